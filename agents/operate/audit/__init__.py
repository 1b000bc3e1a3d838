"""The audit: everything that was learned, counted again from what the agents left behind."""
