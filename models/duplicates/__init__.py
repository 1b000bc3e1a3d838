"""Near-duplicates: how alike two pages' texts are, from sketches of a fixed size."""
