"""Policies to compare with: those of the literature, chance, and an oracle."""
