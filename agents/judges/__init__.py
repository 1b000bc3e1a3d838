"""Judges: what tells the categories and the language of a page, for predicates that ask."""
