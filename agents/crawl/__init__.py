"""A whole crawl in one process: every agent on the embedded log, and what is shown of it."""
