"""The table of what faults did."""

from collections.abc import Iterable

from bench.faults.suite import Result

HEAD = ("fault", "times", "pages", "lines", "lost", "twice", "wrong", "seconds")


def row(result: Result) -> tuple[str, ...]:
    """Return a result as a row of the table."""
    found = result.checked
    numbers = (result.times, found.judged, found.lines, found.lost, found.twice, found.differences)
    return (result.fault, *map(str, numbers), f"{result.seconds:.1f}")


def table(results: Iterable[Result]) -> str:
    """Return the table as Markdown.

    ``pages`` and ``lines`` are what the crawl had counted at the recount; ``wrong`` are rows that differ from
    it; ``seconds`` are those until ten more pages were judged.
    """
    lines = [HEAD, ("---", *("--:" for _ in HEAD[1:])), *map(row, results)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
