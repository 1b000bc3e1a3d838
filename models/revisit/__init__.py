"""Revisits: how often a page changes, what a visit to it would gain, and which page is visited next."""
