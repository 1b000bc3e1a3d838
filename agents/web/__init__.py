"""The web: asking for pages and reading them."""
