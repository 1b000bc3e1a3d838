"""The yardsticks of the crawler: slow, in memory, and simple enough to be right."""
