"""The depth command: how deep to crawl the sites of a log, an archive or a graph."""
