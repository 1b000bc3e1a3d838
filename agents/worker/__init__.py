"""A worker: one process that plays some of the roles, or all of them."""
