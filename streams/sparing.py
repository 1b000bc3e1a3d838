"""What libraries do when they are imported and nobody here has a use for, left out.

None of it may be needed: `tests/costs/test_imports.py` sees whether it is still left out.
"""

import os
import sys
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


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

    The embedded log has no use for it. Whoever imports it later has all of it. Call it before anything else
    imports Faust.
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
