"""The Crawlee crawler of the comparison: every link of every page, and the title of each page as an item.

It is run by a Python that has Crawlee: ``python crawlee_spider.py SEEDS PROXY AGENT [PAGES]``. Queue and items
lie on disk below the current directory, where Crawlee's default storage has them, and an earlier run's stay.
It does not ask for robots.txt, which Crawlee fetches past the proxy.
"""

import asyncio
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
    crawler = ParselCrawler(
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

    crawler.pre_navigation_hook(name_us)
    crawler.router.default_handler(parse)
    await crawler.run(seeds)


if __name__ == "__main__":
    service_locator.set_configuration(Configuration(purge_on_start=False))
    _, given, through, name, *most = sys.argv
    asyncio.run(crawl(Path(given).read_text().split(), through, name, int(most[0]) if most else None))
