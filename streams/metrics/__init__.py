"""What a worker counts and measures, for Prometheus: the names, the registry, and what is read at a scrape."""
