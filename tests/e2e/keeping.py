"""A crawl that keeps up with a web that changes, on any log, and what it has to tell."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.agents.commands import COMMAND, last_line, printed, running, wait_until
from tests.agents.test_changes import items
from tests.e2e.crawls import options
from tests.patience import PATIENCE
from tests.webs.changing import LAST, WORDS, Changing, script

#: Kinds of changes after which a page satisfies the predicate.
HOLDS = ("appeared", "changed")


class Keeping:
    """A crawl that keeps up with a web, by the same command each time; ``options`` are those of every command.

    ``expected`` is what it has to tell up to the time ``at``: that of the web, but where it has its own clock.
    """

    def __init__(self, directory: Path, policy: str, *options: str) -> None:
        self.at = 0.0
        self.web = Changing(script(), lambda: self.at)
        self.expected: Counter[tuple[str, str, str]] = Counter()
        self.printed = ("", "")
        self._directory = directory
        self._options = options
        self._policy = policy
        self._words = ["snow"]

    def _command(self, *ends: str) -> list[str]:
        """Return the command of the crawl; without what ``ends`` it, it goes on."""
        given = {
            "fetch.allow": "127.0.0.1,localhost,a.localhost", "fetch.delay_seconds": 0, "fetch.delay_factor": 0,
            "frontier.policy": self._policy, "frontier.retry_seconds": 0.3, "frontier.lease_seconds": 10,
            "judge.duplicates": "false", "revisit.shortest_seconds": 0.2, "revisit.longest_seconds": 0.6,
            "revisit.tell_seconds": 0.5, "observe.user_key": "k",
        }  # fmt: skip
        log = self._directory / "access.log"
        log.write_text("".join(self._lines()))
        return [
            "crawl", *(ends or ("--keep-up",)), "--seed", self.web.url("0/"), "--log", str(log), "--json",
            "--predicate", f"snow={WORDS['snow']}", *options(given), *self._options,
        ]  # fmt: skip

    def _lines(self) -> list[str]:
        """Return the log of users each of whom goes through some of the pages."""
        random, names = Random(1), sorted(name for name, looks in self.web.script.items() if 0 in looks)
        return [
            f"10.0.0.{user} - - [14/Nov/2023:22:{user:02}:{number:02} +0000] "
            f'"GET {self.web.url(name)} HTTP/1.1" 200 512 "-" "Mozilla/5.0"\n'
            for user in range(1, 9)
            for number, name in enumerate(random.sample(names, 6))
        ]

    def command(self, *arguments: str) -> str:
        """Return what a command prints."""
        return printed(self._directory, *arguments, *self._options)

    def changes(self) -> list[dict[str, str]]:
        """Return the changes that were told, by their times, as a program reads them."""
        lines = self.command("changes", "--set", "frontier.revisit=0.5", "--format", "jsonl").splitlines()
        return [json.loads(line) for line in lines]

    def told(self) -> Counter[tuple[str, str, str]]:
        """Return the changes that were told, as the truth names them."""
        return Counter(map(self.web.told, self.changes()))

    def held(self, word: str) -> set[str]:
        """Return the pages that satisfy a predicate by what was told of it."""
        told = map(self.web.told, self.changes())
        last = {name: kind for predicate, kind, name in told if predicate == word}
        return {name for name, kind in last.items() if kind in HOLDS}

    def add_sea(self) -> None:
        """Add the other predicate, which judges the pages that were judged before too."""
        self.command("predicate", "add", "sea", WORDS["sea"], "--kept")
        self._words.append("sea")
        self.expected.update(self.web.changes("sea", None, self.at))

    def go_on(self, at: float) -> None:
        """Have the web change, up to a time."""
        for word in self._words:
            self.expected.update(self.web.changes(word, self.at if at else None, at))
        self.at = at

    def current(self) -> bool:
        """Return whether the newest point of the harvest has all matches, and says how fresh they are."""
        points = map(json.loads, self.command("harvest", "--format", "jsonl").splitlines())
        [*_, point] = (point for point in points if point["predicate"] == "snow")
        assert point["matches"] == 0 or 0 < point["freshness"] <= 1
        assert 0 <= point["revisit_share"] < 1
        matches = len(self.web.matches("snow", self.at))
        return bool(point["revisits"] and point["revisit_share"]) and point["matches"] == matches

    def settled(self) -> bool:
        """Return whether all is told, and each page was visited twice since."""
        return self.visited() and not self.expected - self.told()

    def visited(self) -> bool:
        """Return whether each page was visited twice since the time that it is."""
        asked = Counter(asked.name for asked in self.web.asked if asked.at >= self.at)
        return all(asked[name] > 1 for name in self.web.script if self.web.look(name, self.at).stands)

    def kill(self, requests: int) -> None:
        """Crawl, and kill the crawl after so many requests."""
        enough = len(self.web.asked) + requests
        with running(self._directory, *self._command(), program=COMMAND) as process:
            wait_until(lambda: len(self.web.asked) >= enough, process)

    def settle(self, settled: Callable[[], bool] | None = None) -> None:
        """Crawl until all is told, and end."""
        with running(self._directory, *self._command(), program=COMMAND) as process:
            wait_until(settled or self.settled, process)
            process.terminate()
            out, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, said
        self.printed = (out, said)

    def drain(self) -> None:
        """Take in all that was told, and end: as many requests as may be made were made.

        A crawl that was killed, or was told to end, leaves what was under way to its next run; `settle` may end
        that one before it has taken anything in.
        """
        self.command(*self._command("--requests", "1", "--set", "frontier.revisit=0.5"))

    def run(self, random: Random) -> None:
        """Go through all that the web becomes, with a kill at each time."""
        for at in range(LAST + 1):
            self.go_on(at)
            self.kill(random.randint(1, 60))
            self.settle()
            if at == 1:
                self.add_sea()
                self.settle()
        before = len(self.web.asked)
        self.settle(lambda: len(self.web.asked) > before and self.current())
        out, said = self.printed
        assert " revisits, " in said
        assert last_line(out)["revisits"] > 0
        self.drain()

    def shown(self, word: str) -> tuple[set[str], set[tuple[str, str]]]:
        """Return a predicate's matches, and kind and page of its changes, as commands print them."""
        lines = self.command("matches", word, "--format", "jsonl").splitlines()
        feed = items(self.command("changes", "--predicate", word, "--format", "rss"))
        return (
            {self.web.name(json.loads(line)["url"]) for line in lines},
            {(item["title"].partition(":")[0].lower(), self.web.name(item["link"])) for item in feed},
        )

    def check(self, audited: dict[str, int]) -> None:
        """Assert that all that the crawl was told of was taken in, and counted exactly."""
        pages = sum(any(look.stands for look in looks.values()) for looks in self.web.script.values())
        names = ("behind", "judged", "judged_twice", "lost", "differences")
        assert [audited[name] for name in names] == [0, pages, 0, 0, 0]
