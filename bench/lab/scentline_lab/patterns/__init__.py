"""The work of ``scentline patterns``: a log's URL patterns, their measures and pictures."""
