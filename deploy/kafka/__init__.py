"""One Apache Kafka broker on this machine: ``make kafka``, ``make kafka-stop``, and the tests."""
