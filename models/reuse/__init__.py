"""What a crawl has learned, for another one to start with (Aggarwal 2004, section 4.1)."""
