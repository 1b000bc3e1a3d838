"""How facts travel and where state lives: settings, records, topics, transports, the exactly-once inbox."""
