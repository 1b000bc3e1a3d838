"""A classifier of texts into categories, which is trained on examples."""
