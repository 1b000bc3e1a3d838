"""How facts travel and where state lives: settings, records, topics, transports and the exactly-once inbox."""
