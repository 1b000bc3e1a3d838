"""The laboratories: commands that measure what a log, an archive or a graph is worth, with no network."""
