"""Interest ratios learned from links: words, URL tokens, locality, siblings (Aggarwal 2004, section 3)."""
