"""Access logs of web servers and proxies: their formats, and which of their lines are page views."""
