"""How long a test waits for what has to come."""

#: Seconds, many more than it takes: a wait says that something came, and nothing of how fast a busy machine is.
PATIENCE = 240.0
