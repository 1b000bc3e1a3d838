"""Python's garbage collector while a worker runs: seldom, and never over what was there when it started.

What a crawl keeps, rows above all, is hardly ever a cycle, so a collection finds next to nothing and costs as
much as the heap is large. Faust collects everything on top of that, for each table that it opens or closes.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: New objects of the kinds that can form cycles, less those freed, before the youngest are collected; Python's
#: default is 700. Its older generations follow after as many collections as ever.
YOUNG = 50_000
#: The same for who reads pages: lxml's parser leaves a cycle with all that a page holds, and little else lives.
YOUNG_OF_PAGES = 2_000


def collect_seldom(young: int = YOUNG) -> None:
    """Collect seldom from now on: when there are so many ``young`` objects."""
    gc.set_threshold(young, *gc.get_threshold()[1:])


@contextmanager
def collected_seldom(young: int = YOUNG) -> Iterator[None]:
    """Leave whatever lives now out of collections, and collect the rest seldom, until the end of the block."""
    before = gc.get_threshold()
    gc.freeze()
    collect_seldom(young)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
