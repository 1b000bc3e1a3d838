"""Faults on a real broker: workers killed, frozen and wiped, and what is lost or counted twice by it."""
