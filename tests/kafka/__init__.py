"""Tests on a real broker of Apache Kafka."""
