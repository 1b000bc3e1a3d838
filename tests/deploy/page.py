"""The commands that docs/operations.md gives."""

import re
import shlex
from collections.abc import Iterator

from deploy.manifests.files import ROOT

TEXT = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
#: What a control plane without containers and operators can carry out, and does not take minutes for.
CARRIED_OUT = {"create", "apply", "diff", "scale", "get", "delete", "rollout restart", "rollout undo"}


def commands(text: str = TEXT) -> Iterator[str]:
    """Yield each line of the blocks of shell commands."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from (line for line in block.splitlines() if line)


def section(title: str) -> str:
    """Return the text of a section of the page."""
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


def carried_out(command: str) -> bool:
    """Return whether a command is one of kubectl's that the control plane can carry out."""
    words = shlex.split(command)
    return words[0] == "kubectl" and not CARRIED_OUT.isdisjoint({words[1], " ".join(words[1:3])})
