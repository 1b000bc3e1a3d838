"""Webs that tests and benchmarks crawl: dangers, hostile sites, and pages that change."""
