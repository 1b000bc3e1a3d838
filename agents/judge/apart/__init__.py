"""Examining pages in a process of its own, which a page may end, and which takes nothing else with it."""
