"""A web made from a seed: sites, pages, users and the log of their visits."""
