"""The Scrapy spider of the comparison: every link of every page, and the title of each page as an item.

It is run by Scrapy, which is installed apart: ``scrapy runspider spider.py -a seeds=FILE -a within=DOMAIN``.
Without a domain it follows links to all.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor


class WholeSpider(Spider):
    """Crawls whatever the seeds lead to, as Scrapy's own tutorial would."""

    name = "whole"
    custom_settings = {  # noqa: RUF012 - a plain dict is what Scrapy asks for
        "ROBOTSTXT_OBEY": True,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        "CONCURRENT_REQUESTS": 16,
        "DOWNLOAD_DELAY": 0,
    }

    def __init__(self, seeds: str, within: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.start_urls = Path(seeds).read_text().split()
        self.links = LinkExtractor(allow_domains=within.split())

    async def start(self) -> AsyncIterator[Request]:
        """Ask for the seeds; those that a job has seen are passed over, so that it goes on where it was."""
        for url in self.start_urls:
            yield Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Give the page's title, and ask for its links."""
        if isinstance(response, TextResponse):
            yield {"url": response.url, "title": response.css("title::text").get()}
            for link in self.links.extract_links(response):
                yield Request(link.url)
