"""Forgetting a user: nothing that a crawl keeps leads to who it was any more."""
