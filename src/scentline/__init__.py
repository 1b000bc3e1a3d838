"""Scentline, a focused web crawler that learns while it crawls; its three packages are the folders at the top."""
