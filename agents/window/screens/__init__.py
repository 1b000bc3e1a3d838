"""The screens: each a module with `Query`, what can be asked of it, and `view`, what it shows of a crawl.

A view is made once a second for each viewer: it takes a few milliseconds, and has bounded size. What a site or
a log wrote is in it as text alone.
"""
