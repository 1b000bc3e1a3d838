"""Asking an endpoint, as Prometheus and Kubernetes do."""

import asyncio
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar
from urllib.error import HTTPError

from prometheus_client.parser import text_string_to_metric_families

from scentline.streams.metrics.catalogue import LAG, Metric

T = TypeVar("T")
HOST = "127.0.0.1"
#: Long enough that only a loop that is really stuck is called so.
PATIENT = 60.0


def asked(url: str) -> tuple[int, str]:
    """Return the status and the text of the answer."""
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def while_stuck(work: Callable[[], T]) -> T:
    """Return what ``work`` returns in another thread while this one, the loop's, does not go on."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


async def get(url: str) -> tuple[int, str]:
    """Return the status and the text of the answer; the loop turns meanwhile."""
    return await asyncio.to_thread(asked, url)


class Scrape(NamedTuple):
    """What a scrape brought: each family's kind, and each sample by its name and labels."""

    kinds: dict[str, str]
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def of(self, metric: Metric, suffix: str = "", **labels: str) -> float:
        """Return the value under these labels; ``suffix`` is that of a histogram's series."""
        return self.samples[metric.name + suffix, frozenset(labels.items())]

    def sum(self, metric: Metric, **labels: str) -> float:
        """Return the sum over all other labels."""
        return sum(
            number
            for (name, found), number in self.samples.items()
            if name == metric.name and labels.items() <= set(found)
        )


def read(text: str) -> Scrape:
    """Read what /metrics says; each family may be there once."""
    families = list(text_string_to_metric_families(text))
    assert len(families) == len({family.name for family in families})
    samples = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }
    kinds = {family.name + ("_total" if family.type == "counter" else ""): family.type for family in families}
    return Scrape(kinds, samples)


async def idle(url: str) -> Scrape:
    """Scrape until nothing waits: acknowledgements are committed twice a second."""
    while True:
        status, text = await get(f"{url}/metrics")
        assert status == 200, text
        scrape = read(text)
        if LAG.name in scrape.kinds and not scrape.sum(LAG):
            return scrape
        await asyncio.sleep(0.1)
