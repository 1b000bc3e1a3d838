"""Reading what a crawl left: its journal and tables, beside a running crawl or after it."""
