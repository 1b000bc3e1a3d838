"""How deep to crawl a site: how deep its users go, and where its pages stop leading to new ones."""
