"""Traps: URLs without end, session ids, and pages that say there is none."""
