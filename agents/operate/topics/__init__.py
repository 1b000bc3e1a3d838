"""The topics at a Kafka broker: made as they are declared, compared with that, and how far they are read."""
