"""The frontier: what is known of every URL, and which one is fetched next."""
