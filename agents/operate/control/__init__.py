"""What people ask of a crawl while it runs: other predicates, other shares, more seeds."""
