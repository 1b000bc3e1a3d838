"""What lies in topics and tables, byte by byte: an example of each record and row, and its pinned bytes."""
