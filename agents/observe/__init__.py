"""Observing: from log lines to accesses, with pseudonyms in the place of users."""
