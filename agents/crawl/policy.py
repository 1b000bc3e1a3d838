"""The policy of a data directory's crawl, or its ordering: figures of two must not be taken for one another's.

With the policy goes whether the crawl knows word meanings: its inputs, and what it counts, depend on that.
"""

from os import fsdecode, fsencode
from pathlib import Path

from agents.crawl.depths import keep_depth, kept_depth
from agents.crawl.extras import keep_extras, with_extras
from streams.configuration import ConfigurationError
from streams.settings import Settings

FILE = "policy"
#: The file that names the crawl's table of word vectors, and is not there without one.
TABLE = "semantic"


def keep_policy(settings: Settings) -> None:
    """Note the crawl's policy and its table of word vectors in its data directory.

    Raises `ConfigurationError` when the crawl there has another policy, has a table where this one has none, or
    has none where this one has one: going on would mix the two. A table may take another's place. Raises what
    `keep_depth` and `keep_extras` do, too.
    """
    data, policy, table = settings.data, settings.frontier.rule, settings.semantic
    known = kept_policy(data)
    if known is not None and known != policy:
        raise ConfigurationError(
            f"{data} holds a crawl with the policy {known}: "
            f"give one with the policy {policy} a --data of its own"
        )
    if known is not None and (kept_table(data) is None) != (table is None):
        held, given = ("with", "without") if table is None else ("without", "with")
        raise ConfigurationError(
            f"{data} holds a crawl {held} word meanings: give one {given} learn.semantic a --data of its own"
        )
    keep_depth(settings, known=known is not None)
    keep_extras(settings, known=known is not None)
    if table is None:
        (data / TABLE).unlink(missing_ok=True)
    else:
        (data / TABLE).write_bytes(fsencode(Path(table).absolute()))
    (data / FILE).write_text(f"{policy}\n", encoding="utf-8")


def kept_policy(data: Path) -> str | None:
    """Return the policy or ordering of the crawl in the directory ``data``, None where none was noted."""
    kept = data / FILE
    return kept.read_text(encoding="utf-8").strip() if kept.exists() else None


def kept_table(data: Path) -> str | None:
    """Return the path of the table of word vectors of the crawl in ``data``, None where it has none."""
    kept = data / TABLE
    return fsdecode(kept.read_bytes()) if kept.exists() else None


def of_crawl(settings: Settings) -> Settings:
    """Return the settings with the policy that the crawl in their data directory has, and with its table.

    Where the settings name a table they are believed: it may have been moved.
    """
    known = kept_policy(settings.data)
    if known is None:
        return settings
    table = kept_table(settings.data)
    frontier = settings.frontier.under(known).model_copy(update={"depth": kept_depth(settings.data)})
    semantic = None if table is None else settings.learn.semantic or table
    learn = settings.learn.model_copy(update={"semantic": semantic})
    return with_extras(settings.model_copy(update={"frontier": frontier, "learn": learn}))
