"""A small news site whose front page gets new links while it is crawled; it notes what it is asked."""
