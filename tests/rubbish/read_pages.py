"""Reads the hostile pages one after the other, each within `SECONDS` of CPU, in a process of its own.

It prints the name of each before it begins with it.
"""

import resource

from scentline.agents.judge.parse import parse
from scentline.agents.judge.verdicts import Language
from scentline.models.duplicates import sketch
from scentline.models.predicate import View
from scentline.models.predicate import parse as predicate
from scentline.streams.settings import JudgeSettings
from tests.rubbish.pages import hostile_pages

#: Of CPU for one page: ten times as much as any needs, and far less than any took.
SECONDS = 20


def main() -> None:
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
