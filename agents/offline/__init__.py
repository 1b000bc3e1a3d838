"""Webs to crawl without the internet: an HTTP server on loopback that answers as a forward proxy."""
