"""Webs and logs that tests and benchmarks crawl: dangers, a newspaper, and news as they break."""
