"""The log of an evaluation: the accesses of one or several files as the steps of a trace."""

from collections.abc import Sequence

from agents.lab.progress import Progress
from agents.observation.logfile import LogFile
from agents.observation.observer import Observer
from models.crowd.trace import Step
from streams.records import Access
from streams.settings import ObserveSettings

#: The users' pseudonyms decide which are kept of a page that has many, so they are the same at each evaluation.
KEY = b"scentline evaluate"


def read_steps(sources: Sequence[str], settings: ObserveSettings, progress: Progress) -> list[Step]:
    """Return the accesses of the logs, in the order of their lines.

    Raises `agents.observation.logfile.LogFileError` and `models.accesslog.recognise.LogFormatError`.
    """
    observer = Observer(settings, KEY)
    steps: list[Step] = []
    if sources:
        progress.phase("read the log", len(sources))
    for source in sources:
        with LogFile(source) as log:
            reader = observer.another()
            reader.recognise(log.sample)
            seen = (reader.observe(line) for _, line in log)
            steps += [
                Step(access.user, access.url, access.time, access.referrer)
                for access in seen
                if isinstance(access, Access)
            ]
        progress.advance()
    return steps


def halves(steps: Sequence[Step]) -> tuple[list[Step], list[Step]]:
    """Return the steps up to the middle of the log's time, and those after it.

    >>> first, second = halves([Step("u", "a", 0.0), Step("u", "c", 10.0), Step("u", "b", 5.0)])
    >>> [step.url for step in first], [step.url for step in second]
    (['a', 'b'], ['c'])
    """
    times = [step.time for step in steps]
    middle = (min(times) + max(times)) / 2 if times else 0.0
    return [step for step in steps if step.time <= middle], [step for step in steps if step.time > middle]
