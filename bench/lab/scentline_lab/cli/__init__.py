"""The commands of the laboratory, one a file, as `scentline` finds them."""
