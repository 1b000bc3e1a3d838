"""How a frontier of many candidates starts, what it keeps in memory, and how a log is taken up."""
