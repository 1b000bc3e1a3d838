"""How fresh revisits keep the copies of a simulated web, by each policy."""
