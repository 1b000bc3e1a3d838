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


def collect_seldom() -> None:
    """Collect seldom from now on."""
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Leave whatever lives now out of collections, and collect the rest seldom, until the end of the block."""
    before = gc.get_threshold()
    gc.freeze()
    collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
