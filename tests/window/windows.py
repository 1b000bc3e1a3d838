"""A window as people start it, and a client that has its token."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import httpx

from tests.agents.commands import COMMAND, ROOT, running
from tests.patience import PATIENCE

#: The screens that have a page of their own.
SHOWN = sorted(path.stem for path in (ROOT / "agents/window/static/screens").glob("*.js"))


@contextmanager
def started(
    data: Path, *arguments: str, program: Sequence[str] = COMMAND, **variables: str
) -> Iterator[tuple[Popen[str], str]]:
    """Start a window on a crawl's directory; give its process, and the address that it prints."""
    given = arguments if "--port" in arguments else ("--port", "0", *arguments)
    words = ("window", "--data", str(data), *given)
    with running(data.parent, *words, program=program, **variables) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("The window: http://127.0.0.1:"), line
        yield process, line.split()[-1]


@contextmanager
def printed_address(data: Path, *arguments: str, **variables: str) -> Iterator[str]:
    """Start a window on a crawl's directory; give the address that it prints, with its token."""
    with started(data, *arguments, **variables) as (process, address):
        yield address
        process.terminate()
        process.wait(PATIENCE)


@contextmanager
def entered(data: Path, *arguments: str, **variables: str) -> Iterator[httpx.Client]:
    """Start a window, and give a client that has entered it."""
    with (
        printed_address(data, *arguments, **variables) as url,
        httpx.Client(base_url=base_of(url), timeout=PATIENCE) as client,
    ):
        client.get(url).raise_for_status()
        yield client


def base_of(url: str) -> str:
    """Return a printed address without what leads in."""
    return url.partition("/enter")[0]
