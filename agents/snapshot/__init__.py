"""The snapshot: what a crawl on Kafka knows, as a data directory that every reading command can read."""
