"""What a crawl has learned as a file, from its tables and into another crawl's log."""
