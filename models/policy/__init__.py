"""Policies: what a candidate is worth to a predicate, and why."""
