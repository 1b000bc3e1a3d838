"""What the window looks up by other keys than the crawl's: in SQLite, in DATA/window/."""
