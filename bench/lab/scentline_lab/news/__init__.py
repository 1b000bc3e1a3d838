"""News in a log: pages, hubs and prefixes, measured and drawn."""
