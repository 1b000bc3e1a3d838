"""A real proxy whose log is followed while people browse, and how soon what they saw is a candidate."""
