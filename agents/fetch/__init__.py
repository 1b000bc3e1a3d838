"""Fetching: asking the web for pages, politely, and what came of it."""
