"""Where a page's CPU time goes: a crawl with a stopwatch on the functions that its stages consist of."""
