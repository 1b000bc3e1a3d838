"""A worker: one process that plays some or all of the roles."""
