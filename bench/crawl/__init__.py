"""Scentline beside Scrapy: the same pages, crawled whole, and what is left of a crawl after ``kill -9``."""
