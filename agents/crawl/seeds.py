"""Where a crawl without seeds starts: at a few pages of its log."""

from itertools import islice
from random import Random

from scentline.agents.observe.logfile import LogFile
from scentline.agents.observe.observer import Observer
from scentline.streams.records import Access
from scentline.streams.settings import Settings

SEEDS = 10
#: Accepted accesses among whose pages the seeds are drawn.
DRAWN_FROM = 2_000


def seeds_of_log(source: str, settings: Settings) -> list[str]:
    """Return ten pages of a log, drawn among those of its first accesses; all there are, if fewer.

    Of standard input, which can be read only once, the sample at hand is used.
    """
    observer = Observer(settings.observe, b"seeds")
    with LogFile(source) as log:
        observer.recognise(log.sample)
        lines = iter(log.sample) if source == "-" else (line for _, line in log)
        seen = (observer.observe(line) for line in lines)
        accesses = islice((access for access in seen if isinstance(access, Access)), DRAWN_FROM)
        urls = sorted({access.url for access in accesses})
    return Random(settings.random_seed).sample(urls, min(SEEDS, len(urls)))
