"""The command that benchmarks run, the data that they run it on, and the CPU time of what they start."""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import msgspec

Made = TypeVar("Made")

#: Where webs lie that were recorded, each in a directory, and two of them.
DATA = Path(__file__).parents[2] / "shared" / "data"
WIKISPEEDIA, DOCS = DATA / "wikispeedia", DATA / "docs"

#: What the benches' crawlers call themselves.
AGENT = "bench/1.0 (+mailto:bench@example.org)"
COMMAND = (sys.executable, "-c", "from scentline.agents.cli import main; main()")


def each(option: str, values: Iterable[str]) -> list[str]:
    """Return an option with each of its values."""
    return [word for value in values for word in (option, value)]


def crawling(
    proxy: str, data: Path, seeds: Iterable[str], predicates: Mapping[str, str] | Iterable[str], *more: str
) -> list[str]:
    """Return the arguments that crawl what a proxy serves, without a delay."""
    if isinstance(predicates, Mapping):
        predicates = [f"{name}={expression}" for name, expression in predicates.items()]
    settings = (f"fetch.proxy={proxy}", "fetch.delay_seconds=0", f"fetch.user_agent={AGENT}")
    return [
        "--data", str(data), *each("--predicate", predicates), *each("--seed", seeds), *each("--set", settings),
        *more,
    ]  # fmt: skip


def needs(file: Path, what: str) -> None:
    """Exit, naming what there is no file of."""
    if not file.is_file():
        raise SystemExit(f"{what}: needs the shared data file {file}; name another place by an option")


def summary(*arguments: str) -> dict[str, Any]:
    """Crawl as the command's arguments say; return what a crawl came to.

    Raises CalledProcessError.
    """
    run = subprocess.run(  # noqa: S603 - this project's own command
        [*COMMAND, "crawl", "--json", *arguments],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def kept(directory: Path | None, what: Sequence[object], kind: type[Made], make: Callable[[], Made]) -> Made:
    """Return what ``make`` makes of ``what``, or made of the same before, where a directory keeps it.

    So a run that was stopped goes on where it stood.
    """
    if directory is None:
        return make()
    path = directory / f"{blake2b(repr(what).encode(), digest_size=8).hexdigest()}.json"
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(make()))
    return msgspec.json.decode(path.read_bytes(), type=kind)


@contextmanager
def directory_of(keep: Path | None, name: str) -> Iterator[Path]:
    """Give the new directory ``keep``, or without one a directory that goes at the end.

    Raises `FileExistsError`: crawls that are there already would go on.
    """
    if keep is not None:
        keep.mkdir(parents=True)
        yield keep.absolute()
        return
    with tempfile.TemporaryDirectory(prefix=f"scentline-{name}-") as directory:
        yield Path(directory)


def children_cpu() -> float:
    """Return the CPU seconds, user and system, of all children that were waited for so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
