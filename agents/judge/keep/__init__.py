"""Kept pages: as WARC files in the data directory, within a bound."""
