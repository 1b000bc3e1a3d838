"""The frontier: the state of every known URL, and the choice of the next to fetch."""
