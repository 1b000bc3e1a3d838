"""Harvest: what a crawl has found of each predicate, as points of one stream."""
