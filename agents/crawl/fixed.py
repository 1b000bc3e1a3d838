"""The settings that a crawl begins with and keeps: noted in its data directory, others are refused there.

Going on with another one would mix what was learned, counted and reached under the two.
"""

from hashlib import file_digest
from os import fsdecode, fsencode
from pathlib import Path
from typing import Literal, NamedTuple

from scentline.agents.stored import write_stored
from scentline.streams.configuration import ConfigurationError
from scentline.streams.crawl_settings import AUTO, JudgeSettings
from scentline.streams.settings import Settings

#: The files that hold them. Where there is no policy there is no crawl; the others may be missing.
POLICY, TABLE, DEPTH, EXTRAS, JUDGE = "policy", "semantic", "depth", "extras", "judge"
#: The extras: for each something is counted from the first page on, as what is needed to visit a page again.
FRONTIER = ("visited_patterns_only", "revisit")
#: `frontier.revisit` of a crawl with revisits, where the settings at hand have none: as good as any other.
LEAST_SHARE = 0.01


class Fixed(NamedTuple):
    """The ``policy`` of a crawl, or its ordering, and what it counts beside the usual.

    ``table`` is its table of word vectors, a path or `AUTO`, which another table may replace but not None.
    ``extras`` are the names of settings that are on.
    """

    policy: str
    table: str | None
    depth: Literal["", "auto"]
    extras: frozenset[str]


def keep_fixed(settings: Settings) -> None:
    """Note a crawl's fixed settings in its data directory: all of them, or none, wherever this is interrupted.

    The policy comes last, for without one there is no crawl. Other processes read the files: what is there is
    not written again. Raises `ConfigurationError` where the crawl there has others.
    """
    data, given = settings.data, _given(settings)
    held = _held(data)
    _keep_judges(settings)
    if held == given:
        return
    difference = None if held is None else _difference(held, given)
    if difference is not None:
        known, asked = difference
        raise ConfigurationError(f"{data} holds a crawl {known}: give one {asked} its own --data")
    _note(data / DEPTH, given.depth.encode())
    _note(data / EXTRAS, "\n".join(sorted(given.extras)).encode())
    _note(data / TABLE, fsencode(given.table or ""))
    _note(data / POLICY, given.policy.encode())


def _keep_judges(settings: Settings) -> None:
    """Note the judges of categories, by their contents: under others the same predicate is another one."""
    given, path = _judges(settings.judge), settings.data / JUDGE
    held = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if held and given and held != given:
        was, is_ = (", ".join(sorted(lines)) for lines in (set(held) - set(given), set(given) - set(held)))
        raise ConfigurationError(
            f"{settings.data} holds a crawl with categories by {was or 'fewer judges'}, and now by "
            f"{is_ or 'fewer judges'}: what is counted is of those; give this one its own --data"
        )
    if given and not held:
        _note(path, "\n".join(given).encode())


def _judges(settings: JudgeSettings) -> list[str]:
    """Return a line for each judge of categories: of which kind it is, and its content's hash or version."""
    found = []
    for kind, path in (("labels", settings.labels), ("classifier", settings.classifier)):
        if path is None:
            continue
        try:
            with Path(path).open("rb") as file:
                found.append(f"judge.{kind} of SHA-256 {file_digest(file, 'sha256').hexdigest()[:16]}")
        except OSError:
            continue  # the judge says what is wrong with it
    if settings.python is not None:
        # Imported where there is such a judge, as in agents.judge.judges.
        from importlib.metadata import entry_points

        from scentline.agents.judge.judges import GROUP

        for point in entry_points(group=GROUP, name=settings.python):
            version = f" {point.dist.name} {point.dist.version}" if point.dist else ""
            found.append(f"judge.python {point.name} = {point.value}{version}")
    return found


def kept_policy(data: Path) -> str | None:
    """Return the policy or ordering of the crawl in the directory ``data``, None where there is none."""
    kept = data / POLICY
    return kept.read_text(encoding="utf-8").strip() if kept.exists() else None


def with_table(settings: Settings) -> Settings:
    """Return the settings with the table of word vectors that the crawl there began with, or with none.

    So it is where they leave the choice; a new crawl has the table that comes with the program.
    """
    held = _held(settings.data)
    if held is None or settings.learn.semantic != AUTO:
        return settings
    return settings.model_copy(update={"learn": settings.learn.model_copy(update={"semantic": held.table})})


def of_crawl(settings: Settings) -> Settings:
    """Return the settings with the fixed ones of the crawl in their data directory, where there is one.

    Where the settings name a table of word vectors they are believed: it may have been moved.
    """
    held = _held(settings.data)
    if held is None:
        return settings
    frontier = settings.frontier.under(held.policy)
    kept = {
        "depth": held.depth,
        "visited_patterns_only": "visited_patterns_only" in held.extras,
        "revisit": (frontier.revisit or LEAST_SHARE) if "revisit" in held.extras else 0.0,
    }
    frontier = frontier.model_copy(update=kept)
    named = None if settings.learn.semantic == AUTO else settings.learn.table
    semantic = None if held.table is None else named or held.table
    learn = settings.learn.model_copy(update={"semantic": semantic})
    return settings.model_copy(update={"frontier": frontier, "learn": learn})


def _given(settings: Settings) -> Fixed:
    frontier, table = settings.frontier, settings.semantic
    extras = {"visited_patterns_only": frontier.visited_patterns_only, "revisit": frontier.revisit > 0}
    return Fixed(
        policy=frontier.rule,
        table=table if table in (None, AUTO) else str(Path(table).absolute()),
        depth=frontier.depth,
        extras=frozenset(name for name, on in extras.items() if on),
    )


def _held(data: Path) -> Fixed | None:
    policy, table, extras = kept_policy(data), data / TABLE, data / EXTRAS
    if policy is None:
        return None
    return Fixed(
        policy=policy,
        table=fsdecode(table.read_bytes()) if table.exists() else None,
        depth="auto" if (data / DEPTH).exists() else "",
        extras=frozenset(extras.read_text(encoding="utf-8").split()) if extras.exists() else frozenset(),
    )


def _difference(held: Fixed, given: Fixed) -> tuple[str, str] | None:
    """Return what is said of two crawls for the first setting that they differ in, None where there is none."""
    if held.policy != given.policy:
        return f"with the policy {held.policy}", f"with the policy {given.policy}"
    if given.table is None and held.table is not None:
        return "with word meanings", "without learn.semantic"
    if given.table is not None and held.table is None:
        return "without word meanings", "with learn.semantic"
    if held.depth != given.depth:
        return f'with frontier.depth = "{held.depth}"', f'with "{given.depth}"'
    if held.extras != given.extras:
        return f"with {_text(held.extras)}", f"with {_text(given.extras)}"
    return None


def _text(extras: frozenset[str]) -> str:
    found = [f"frontier.{name}" for name in FRONTIER if name in extras]
    return " and ".join(found) or "neither URL patterns nor revisits"


def _note(path: Path, text: bytes) -> None:
    """Write a file; without a text there is none, whatever an earlier start that was ended left."""
    if text:
        write_stored(path, text)
    else:
        path.unlink(missing_ok=True)
