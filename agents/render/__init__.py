"""Rendering pages in Chromium, which runs their scripts but makes no connection itself."""
