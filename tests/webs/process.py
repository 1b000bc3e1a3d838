"""The webs of the tests, each in a process of its own; each notes in the file ``record`` what it is asked."""

from dataclasses import asdict
from pathlib import Path

from scentline.agents.offline.process import ServerProcess
from tests.webs.dangers.rivals import Rivals
from tests.webs.newspaper.site import Site

_WEBS = "tests.webs"


def serve_dangers(record: Path) -> ServerProcess:
    """Serve the dangerous web; it is no proxy, and its URL is its home page."""
    return ServerProcess(_WEBS, ["dangers", "--", str(record)])


def serve_rivals(web: Rivals, record: Path) -> ServerProcess:
    """Serve honest and hostile sites; the URL is an honest home page."""
    given = [f"--seed={web.seed}", f"--commented={web.commented}"]
    return ServerProcess(_WEBS, ["rivals", *given, "--", str(record), *web.kinds])


def serve_newspaper(site: Site, record: Path) -> ServerProcess:
    """Serve a newspaper; it is no proxy, and its URL is its front page."""
    given = (f"--{name}={value}" for name, value in asdict(site).items())
    return ServerProcess(_WEBS, ["newspaper", *given, "--", str(record)])
