"""The data directory of a crawl: writable, closed to other users, with a file of the crawl's fixed settings.

Other settings are refused: they would mix what was learned, counted and reached under both.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import file_digest
from os import geteuid
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import asdict, replace

from scentline.agents.observe.pseudonym import KEY_FILE
from scentline.agents.stored import read_stored, write_stored
from scentline.models.settings import AUTO, JudgeSettings
from scentline.streams.settings import ConfigurationError, Settings

#: The file of a crawl's fixed settings. Without it there is no crawl.
CRAWL = "crawl.json"
#: The folder of the window's own files and of the address that answers it.
WINDOW = "window"
_MOST_BYTES = 1_000_000
#: The names that this program creates in a data directory, or did: "requests" are an earlier version's.
_OURS = frozenset({"journal", "kept", "requests", CRAWL, WINDOW, "forgetting", KEY_FILE})
#: `frontier.revisit` of a crawl with revisits, where the given settings have none: any share would do.
LEAST_SHARE = 0.01


def make_directory(data: Path) -> None:
    """Create the data directory, closed to other users, if missing; close what is open to them there.

    Raises `ConfigurationError` where it isn't writable.
    """
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in _open_to_others(data):
            with suppress(OSError):
                path.chmod(path.stat().st_mode & 0o700)
    except OSError as error:
        raise ConfigurationError(f"data {data}: can't create the directory: {error.strerror}") from error
    try:
        # A trial, not a permission check: root may do everything, except where the file system can't.
        tempfile.TemporaryFile(dir=data).close()
    except OSError as error:
        raise ConfigurationError(
            f"data {data}: can't write there ({error.strerror}); expected a directory of yours"
        ) from error


def _open_to_others(data: Path) -> Iterator[Path]:
    """Yield what an earlier version left open, and the directory too if it holds nothing else."""
    held = list(data.iterdir())
    ours = [path for path in held if path.name in _OURS]
    # Not the key: its reader closes it with a warning, since its readers can undo the pseudonyms.
    closed = [path for path in ours if path.name != KEY_FILE]
    for path in closed + ([data] if ours and len(ours) == len(held) else []):
        status = path.lstat()
        if not path.is_symlink() and status.st_uid == geteuid() and status.st_mode & 0o077:
            yield path


class Kept(msgspec.Struct, frozen=True):
    """A crawl's fixed settings: its ``policy``, or ordering, and what it counts from the first page on.

    ``semantic``, a path or `AUTO`, may change to another table of word vectors, but not to or from None.
    ``judges`` identifies each judge of categories by its contents: other judges change what predicates mean.
    """

    policy: str
    semantic: str | None
    depth: Literal["", "auto"]
    visited_patterns_only: bool
    revisit: bool
    judges: tuple[str, ...]

    def in_words(self) -> tuple[str, ...]:
        """Return each setting as a phrase about a crawl that has it."""
        extras = [f"frontier.{name}" for name in ("visited_patterns_only", "revisit") if getattr(self, name)]
        return (
            f"with the policy {self.policy}",
            f"with{'out' if self.semantic is None else ''} the word meanings of learn.semantic",
            f'with frontier.depth = "{self.depth}"',
            f"with {' and '.join(extras) or 'neither URL patterns nor revisits'}",
            f"with categories by {', '.join(self.judges)}",
        )


def kept_settings(data: Path) -> Kept | None:
    """Return the fixed settings of the crawl in the directory ``data``, None without a crawl.

    Raises `ConfigurationError` where the file can't be read.
    """
    path = data / CRAWL
    return read_stored(path, _MOST_BYTES, _unpacked, ConfigurationError, f"{path}") if path.exists() else None


def _unpacked(data: bytes) -> Kept:
    try:
        return msgspec.convert(json.loads(data), Kept)
    except ValueError as error:
        raise ConfigurationError(f"not the settings of a crawl: {error}") from error


def keep_settings(settings: Settings) -> None:
    """Write a crawl's fixed settings into its data directory.

    An unchanged file is not written again, since other processes read it. Raises `ConfigurationError` where the
    crawl there has others.
    """
    data, held, given = settings.data, kept_settings(settings.data), _given(settings)
    if held is not None:
        # A run without predicates of categories needs no judges, whatever others of the crawl have.
        given = replace(given, judges=given.judges or held.judges)
        known = replace(held, judges=held.judges or given.judges)
        for was, now in zip(known.in_words(), given.in_words(), strict=True):
            if was != now:
                raise ConfigurationError(f"{data} holds a crawl {was}: give one {now} its own --data")
    if given != held:
        # Not by msgspec: a file's name may not be UTF-8.
        write_stored(data / CRAWL, json.dumps(asdict(given)).encode())


def _given(settings: Settings) -> Kept:
    frontier, table = settings.frontier, settings.semantic
    return Kept(
        policy=frontier.rule,
        semantic=table if table in (None, AUTO) else str(Path(table).absolute()),
        depth=frontier.depth,
        visited_patterns_only=frontier.visited_patterns_only,
        revisit=frontier.revisit > 0,
        judges=tuple(_judges(settings.judge)),
    )


def _judges(settings: JudgeSettings) -> Iterator[str]:
    """Yield a line for each judge of categories: its kind, and its content's hash or version."""
    for kind, path in (("labels", settings.labels), ("classifier", settings.classifier)):
        # The judge reports a file that can't be read.
        if path is not None:
            with suppress(OSError), Path(path).open("rb") as file:
                yield f"judge.{kind} of SHA-256 {file_digest(file, 'sha256').hexdigest()[:16]}"
    if settings.python is not None:
        # Imported where there is such a judge, as in agents.judge.judges.
        from importlib.metadata import entry_points

        from scentline.agents.judge.judges import GROUP

        for point in entry_points(group=GROUP, name=settings.python):
            version = f" {point.dist.name} {point.dist.version}" if point.dist else ""
            yield f"judge.python {point.name} = {point.value}{version}"


def with_table(settings: Settings) -> Settings:
    """Return the settings with the table of word vectors, or none, that the crawl there began with.

    A table that the settings name stays; a new crawl uses the one that comes with the program.
    """
    held = kept_settings(settings.data)
    if held is None or settings.learn.semantic != AUTO:
        return settings
    return settings.model_copy(update={"learn": settings.learn.model_copy(update={"semantic": held.semantic})})


def of_crawl(settings: Settings) -> Settings:
    """Return the settings with the fixed ones of the crawl in their data directory, if there is one.

    A table of word vectors that the settings name stays, since it may have been moved.
    """
    held = kept_settings(settings.data)
    if held is None:
        return settings
    frontier = settings.frontier.under(held.policy)
    own = {
        "depth": held.depth,
        "visited_patterns_only": held.visited_patterns_only,
        "revisit": (frontier.revisit or LEAST_SHARE) if held.revisit else 0.0,
    }
    named = None if settings.learn.semantic == AUTO else settings.learn.table
    semantic = None if held.semantic is None else named or held.semantic
    learn = settings.learn.model_copy(update={"semantic": semantic})
    return settings.model_copy(update={"frontier": frontier.model_copy(update=own), "learn": learn})
