"""Memory: Python's collector runs seldom, large freed blocks are given back, needless imports are left out.

Rows rarely form cycles, so a collection finds next to nothing, at a cost that grows with the heap.
`tests/costs/test_imports.py` checks what is imported.
"""

import gc
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

#: New objects that can form cycles, less those freed, before the youngest are collected; Python's default is
#: 700. The thresholds of the older generations stay.
YOUNG = 50_000
#: The same for readers of pages: lxml's parser leaves each page in a cycle, and little else lives.
YOUNG_OF_PAGES = 2_000
# Bytes of a large block, and M_MMAP_THRESHOLD of mallopt(3).
_LARGE, _MMAP_THRESHOLD = 1 << 20, -3


def collect_seldom(young: int = YOUNG) -> None:
    """Collect seldom from now on: at every ``young`` new objects."""
    gc.set_threshold(young, *gc.get_threshold()[1:])


@contextmanager
def collected_seldom(young: int = YOUNG) -> Iterator[None]:
    """Exempt all living objects from collection, and collect the rest seldom, until the block ends."""
    before = gc.get_threshold()
    gc.freeze()
    collect_seldom(young)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def give_back_large_blocks() -> None:
    """Return freed blocks of a megabyte to the system at once; glibc would keep up to 32 MB."""
    if sys.platform == "linux":
        import ctypes

        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_MMAP_THRESHOLD, _LARGE)


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable collection (10 ms each) in this block of imports, and exempt what lives at its end."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def import_sparingly() -> None:
    """Import less from now on, and numpy for one thread; call it before what it names is imported."""
    # pydantic looks through all installed packages for plugins.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    # numpy's threads spin while they wait for each other: half the time of scoring a few hundred candidates.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # httpx imports its own command line where it can, and with it rich and pygments: 30 ms.
    # warcio opens files elsewhere by fsspec where that is installed: 20 ms.
    for name in ("httpx._main", "fsspec"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # as import itself has it
    # numpy writes the docstrings of what is compiled: 5 ms.
    sys.modules.setdefault("numpy._core._add_newdocs", ModuleType("numpy._core._add_newdocs"))


def import_aiohttp() -> None:
    """Import aiohttp without the machine's certificates: it would read them twice, in 50 ms, for nothing.

    Call it before anything else imports aiohttp, and while no other thread makes contexts.
    """
    # Imported where it is used: most commands send no request.
    import ssl

    # Shadows the inherited method until it is deleted.
    setattr(ssl.SSLContext, "set_default_verify_paths", lambda _: None)  # noqa: B010 - mypy
    try:
        import_module("aiohttp")
    finally:
        delattr(ssl.SSLContext, "set_default_verify_paths")


def import_faust() -> None:
    """Import Faust without the libraries for Kafka, YAML and crontabs, in 50 ms less.

    Only for the embedded log. Call it before anything else imports Faust.
    """
    names = _NamesOnly(("aiokafka", "croniter", "yaml"))
    loaded = {name: module for name, module in sys.modules.items() if names.has(name)}
    for name in loaded:
        del sys.modules[name]
    sys.meta_path.insert(0, names)
    try:
        for name in ("faust.app", "faust.tables", "faust.transport.consumer", "faust.worker"):
            import_module(name)
    finally:
        sys.meta_path.remove(names)
        for name in [name for name in sys.modules if names.has(name)]:
            del sys.modules[name]
        sys.modules |= loaded


class _NamesOnly(MetaPathFinder, Loader):
    """Replaces packages by modules that have an empty class under every name."""

    def __init__(self, packages: Collection[str]) -> None:
        self._packages = packages

    def has(self, name: str) -> bool:
        """Return whether a module lies in one of the packages."""
        return name.partition(".")[0] in self._packages

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return what loads a module, None for one of another package."""
        return ModuleSpec(name, self, is_package=True) if self.has(name) else None

    def exec_module(self, module: ModuleType) -> None:
        """Make a class for each name on access; those of errors can be caught."""
        base = Exception if module.__name__.endswith(".errors") else object
        setattr(module, "__getattr__", lambda name: type(name, (base,), {}))  # noqa: B010 - as above
