"""The window: pages that show a crawl and steer it, served on loopback by a process of its own.

It reads the crawl's directory beside its writer, and queries the frontiers for what is in their memory alone
(`agents.owners`). It changes nothing except by requests (`agents.operate.control`).
"""
