"""What a process does about its memory: Python's collector runs seldom, and needless imports are left out.

What a crawl keeps, rows above all, is hardly ever a cycle, so a collection finds next to nothing and costs as
much as the heap is large. Faust collects everything on top of that, for each table that it opens or closes.

`tests/costs/test_imports.py` sees whether what libraries import, and nobody here has a use for, is still left
out.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

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


def import_sparingly() -> None:
    """Import less from now on; call it before what it names is imported."""
    # pydantic looks through all installed packages for plugins.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    # httpx imports its own command line where it can, and with it rich and pygments: 30 ms.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # as import itself has it


def import_aiohttp() -> None:
    """Import aiohttp without the TLS context that it makes of the machine's certificates, which takes 20 ms.

    Nobody asks by it: the fetcher's pool has its own. The one that is made here trusts nobody. Call it before
    anything else imports aiohttp, and where no other thread makes contexts.
    """
    # Imported where it is used: most commands ask nobody.
    import ssl

    made = ssl.create_default_context
    trusts_nobody = partial(ssl.SSLContext, ssl.PROTOCOL_TLS_CLIENT)
    setattr(ssl, "create_default_context", trusts_nobody)  # noqa: B010 - mypy lets no function be assigned to
    try:
        import_module("aiohttp")
    finally:
        setattr(ssl, "create_default_context", made)  # noqa: B010


def import_faust() -> None:
    """Import Faust without aiokafka, of which it needs an error and a type by their names: 30 ms.

    Only for a process whose log is the embedded one: what it loads of aiokafka stays, so that the rest can't be
    imported there any more. Call it before anything else imports Faust.
    """
    found = find_spec("aiokafka")
    nothing_more = ModuleType("aiokafka")
    nothing_more.__path__ = [] if found is None else list(found.submodule_search_locations or ())
    sys.modules["aiokafka"] = nothing_more
    try:
        for name in ("faust.assignor.partition_assignor", "faust.tables", "faust.worker"):
            import_module(name)
    finally:
        del sys.modules["aiokafka"]
