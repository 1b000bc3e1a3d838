"""How many hits a minute a crawl finds where half of the pages need scripts, by how pages are rendered."""
