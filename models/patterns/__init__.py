"""URL patterns of a site, found from what its users do, and their importance (Liu 2011)."""
