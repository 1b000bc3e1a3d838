"""What docs/metrics.md says, as the tests compare it."""

import re
from pathlib import Path

TEXT = (Path(__file__).parents[1] / "docs" / "metrics.md").read_text(encoding="utf-8")
CODE = re.compile(r"`([^`]+)`")

_ROW = re.compile(r"^`.+ \| .+$", re.MULTILINE)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of all tables below a heading, up to the next of its kind, without heads."""
    below = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.split(" | ")] for line in _ROW.findall(below)]


def values(label: str, metric: str) -> list[str]:
    """Return the values that a label may have; ``metric`` is "all" for a label that is the same everywhere."""
    (found,) = [cells for name, of, cells in rows("Label values") if name == f"`{label}`" and metric in of]
    return CODE.findall(found)
