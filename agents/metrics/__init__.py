"""What each agent counts, and the gauges that are read of it at a scrape."""
