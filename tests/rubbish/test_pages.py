"""Pages made to take long are read in a few seconds of CPU at most, whatever they hold."""

import resource
import subprocess
import sys

from scentline.agents.judge.judges import Language
from scentline.agents.judge.parse import parse
from scentline.models.duplicates import sketch
from scentline.models.predicate import View
from scentline.models.predicate import parse as predicate
from scentline.streams.crawl_settings import JudgeSettings
from tests.agents.commands import environment
from tests.patience import PATIENCE
from tests.rubbish.pages import hostile_pages

#: Of CPU for one page: ten times as much as any needs, and far less than any took.
SECONDS = 20


def test_no_hostile_page_takes_more_than_seconds() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.rubbish.test_pages"],
        env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    begun = ended.stdout.splitlines()
    assert ended.returncode == 0, f"killed while it read: {begun[-1:]}\n{ended.stderr}"
    assert begun == list(hostile_pages())


def main() -> None:
    """Read the pages one after the other; print the name of each before it is read."""
    asked = predicate('"ice hockey" or title("hockey*") or lang("de")')
    language = Language()
    for name, body in hostile_pages().items():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(usage.ru_utime + usage.ru_stime) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        print(name, flush=True)
        page = parse("http://example.org/", body, "text/html", JudgeSettings(), "scentline")
        asked.evaluate(View(page.url, page.title, page.text, language=language(page)))
        sketch(page.text, 50)


if __name__ == "__main__":
    main()
