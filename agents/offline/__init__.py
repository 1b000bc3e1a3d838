"""Webs without the internet: archives and link graphs from files, and a server that answers as a proxy."""
