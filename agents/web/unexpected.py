"""What nobody expected while one URL was asked: a bug, told of, that ends this fetch and nothing else."""

from pathlib import Path
from traceback import extract_tb

from agents.web.result import FetchError
from streams.logging import EventLog

log = EventLog("web")


def unexpected(step: str, url: str, error: Exception) -> FetchError:
    """Write an error line of the ``step`` that failed; return what its fetch comes to: an attempt that failed.

    The line names the host, the exception's type and the line of code: an exception's text may hold a query
    string, or whatever a stranger wrote.
    """
    kind = type(error).__name__
    frames = extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    # By hand: what asked for this may be that the URL is none.
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    log.error("a fetch failed unexpectedly", step=step, host=host, error=kind, where=where)
    return FetchError("retry", f"error {kind}")
