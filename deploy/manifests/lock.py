"""The lock files of the images and of the laboratory: parts of requirements.lock."""

import re
import tomllib
from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

#: Where one requirement of a lock file ends.
BLOCK = r"\n(?=[A-Za-z0-9])"
_HEAD = "# Written by `make manifests` from requirements.lock; edit that, not this file.\n"


def runtime_lock(lock: str, project: str) -> str:
    """Return what the program needs to run; ``project`` is the text of pyproject.toml."""
    return part(lock, tomllib.loads(project)["project"]["dependencies"])


def render_lock(lock: str, project: str) -> str:
    """Return what the extra `render` adds to that."""
    return part(lock, tomllib.loads(project)["project"]["optional-dependencies"]["render"])


def lab_lock(lock: str, lab: str, project: str) -> str:
    """Return what the laboratory needs that the program does not; ``lab`` is the text of its pyproject.toml."""
    asked = tomllib.loads(lab)["project"]["dependencies"][1:]
    of_program = {_name(block) for block in re.split(BLOCK, runtime_lock(lock, project))}
    return _HEAD + "".join(
        f"{block.rstrip()}\n" for block in re.split(BLOCK, part(lock, asked)) if _name(block) not in of_program
    )


def build_lock(lock: str, project: str) -> str:
    """Return what building the program's wheel needs, and installing it in place as `make setup` does."""
    return part(lock, [*tomllib.loads(project)["build-system"]["requires"], "editables"])


def part(lock: str, asked: Iterable[str]) -> str:
    """Return the blocks of a lock (of `uv pip compile`) that requirements need, directly or not.

    A block's "via" lines name the packages that need it.
    """
    # A package may have two blocks, for two ranges of Python's versions.
    blocks = [block for block in re.split(BLOCK, lock) if not block.startswith("#")]
    reached: set[str] = {canonicalize_name(Requirement(requirement).name) for requirement in asked}
    while more := {_name(block) for block in blocks if _via(block) & reached} - reached:
        reached |= more
    return _HEAD + "".join(f"{block.rstrip()}\n" for block in blocks if _name(block) in reached)


def _name(block: str) -> str:
    return canonicalize_name(block.partition("==")[0].partition("[")[0])


def _via(block: str) -> set[str]:
    """Return the packages that need a block, without the project: it may need it for development only."""
    comments = re.findall(r"^ {4}#(?: via)? +(\S+)(.*)$", block, re.MULTILINE)
    return {canonicalize_name(name) for name, rest in comments if not rest}
