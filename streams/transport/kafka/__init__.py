"""The Kafka transport: publishing, reading and consuming over real brokers, exact when workers change."""
