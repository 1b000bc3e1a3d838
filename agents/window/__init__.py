"""The window: pages that show a crawl and steer it, served on loopback by a process of its own.

It reads the crawl's directory beside its writer; what lives in a frontier's memory alone is told to it on the
topic `standing` while somebody looks. It changes nothing but by requests (`agents.operate.control`).
"""
