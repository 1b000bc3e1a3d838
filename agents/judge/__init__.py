"""Judging: reading a fetched page, checking it against every predicate, and keeping what matches."""
