"""Observing: from log lines to accesses, with pseudonyms for users."""
