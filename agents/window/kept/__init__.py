"""The kept copies of pages as text, read in a process of its own, which a copy may end."""
