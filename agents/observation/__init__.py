"""From log lines to accesses: reading logs, pseudonyms, and what is kept of a line."""
