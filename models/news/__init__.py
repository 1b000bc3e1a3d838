"""News pages told by their clicks, the hubs that lead to them and the prefixes of their URLs (Wang 2007)."""
