"""What hostile sites take of a crawl from the honest ones beside them."""
