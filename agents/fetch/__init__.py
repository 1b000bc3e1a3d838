"""Fetching pages from the web, politely, and their results."""
