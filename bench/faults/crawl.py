"""What the faults are tried on: real pages, a real log, real categories."""

import gzip
from dataclasses import dataclass
from itertools import islice
from pathlib import Path


@dataclass(frozen=True)
class Crawl:
    """A crawl of archived pages with a log."""

    pages: Path
    labels: Path
    log: Path
    seeds: tuple[str, ...]
    predicates: dict[str, str]


def wikispeedia(data: Path, log: Path, lines: int) -> Crawl:
    """Return a crawl of the Wikispeedia pages, with the first ``lines`` of its log, written to ``log``."""
    with gzip.open(data / "access.log.gz", "rb") as source:
        log.write_bytes(b"".join(islice(source, lines)))
    seeds = tuple(f"http://{letter}.wikispeedia.test/wp/{title}" for letter, title in SEEDS)
    predicates = {"science": 'category("Science")', "music": 'category("Music")'}
    return Crawl(data / "pages.warc.gz", data / "topics.tsv.gz", log, seeds, predicates)


SEEDS = (("e", "Earth"), ("m", "Music"), ("u", "United_Kingdom"), ("a", "Atom"), ("b", "Bird"))
