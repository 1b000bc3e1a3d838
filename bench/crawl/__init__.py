"""Scentline beside Scrapy and Crawlee: the same pages, and what a ``kill -9`` leaves of each crawl."""
