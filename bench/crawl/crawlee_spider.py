"""The Crawlee crawler of the comparison: every link of every page, and the title of each page as an item.

It is run by a Python that has Crawlee: ``python crawlee_spider.py SEEDS PROXY AGENT [PAGES]``. Queue and items
lie on disk below the current directory, where Crawlee's default storage has them, and an earlier run's stay.
Where SCENTLINE_URL and SCENTLINE_TOKEN_FILE name a door, its frontier is the queue.
It does not ask for robots.txt, which Crawlee fetches past the proxy.
"""

import asyncio
import os
import re
import sys
from pathlib import Path

from crawlee import ConcurrencySettings, HttpHeaders, service_locator
from crawlee.configuration import Configuration
from crawlee.crawlers import BasicCrawlingContext, ParselCrawler, ParselCrawlingContext
from crawlee.proxy_configuration import ProxyConfiguration

_OURS = re.compile(r"http://[^/]*wikispeedia\.test/")


async def crawl(seeds: list[str], proxy: str, agent: str, pages: int | None) -> None:
    """Crawl whatever the seeds lead to, or about as many pages as asked, as Crawlee's own tutorial would."""
    door, frontier = os.environ.get("SCENTLINE_URL"), None
    if door is not None:
        from scentline_client.crawlee import Frontier

        frontier = await Frontier.open(door, token_file=os.environ["SCENTLINE_TOKEN_FILE"])
    crawler = ParselCrawler(
        request_manager=frontier,
        max_requests_per_crawl=pages,
        proxy_configuration=ProxyConfiguration(proxy_urls=[proxy]),
        concurrency_settings=ConcurrencySettings(desired_concurrency=16, max_concurrency=16),
        configure_logging=False,
    )

    async def name_us(context: BasicCrawlingContext) -> None:
        context.request.headers = HttpHeaders({"User-Agent": agent})

    async def parse(context: ParselCrawlingContext) -> None:
        title = context.selector.css("title::text").get()
        await context.push_data({"url": context.request.url, "title": title})
        await context.enqueue_links(strategy="all", include=[_OURS])

    if frontier is not None:
        frontier.attach(crawler)
    crawler.pre_navigation_hook(name_us)
    crawler.router.default_handler(parse)
    await crawler.run(seeds)


if __name__ == "__main__":
    service_locator.set_configuration(Configuration(purge_on_start=False))
    _, given, through, name, *most = sys.argv
    asyncio.run(crawl(Path(given).read_text().split(), through, name, int(most[0]) if most else None))
