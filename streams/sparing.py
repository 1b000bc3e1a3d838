"""What libraries do when they are imported and nobody here has a use for, left out.

None of it may be needed: each library works without, as it says itself.
"""

import os
import sys


def import_sparingly() -> None:
    """Import less from now on; call it before what it names is imported."""
    # pydantic looks through all installed packages for plugins.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    # httpx imports its own command line where it can, and with it rich and pygments: 30 ms.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # as import itself has it
