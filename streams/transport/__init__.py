"""Transports: what carries messages between agents, and what keeps them."""
