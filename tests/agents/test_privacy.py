"""Users' identities and secrets: none is written anywhere; a user can be forgotten without harm to a count."""

import hashlib
import hmac
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from rocksdict import Options, Rdict

from scentline.agents.crawl.connect import open_journal
from scentline.agents.operate.audit.audit import audit
from scentline.agents.operate.inspect.record import accesses
from scentline.agents.operate.privacy import forget as forgetting
from scentline.agents.operate.privacy.forget import Forgotten, forget_user
from scentline.agents.operate.privacy.plan import PLAN_FILE, Bounds, Replacement, begin, choose, pending
from scentline.streams.configuration import ConfigurationError
from scentline.streams.records import FetchedPage
from scentline.streams.settings import Settings
from scentline.streams.topics import (
    ACCESSES,
    DEAD_LETTERS,
    EVIDENCE,
    OUTCOMES,
    PAGES,
    PROXY_LOG,
    SIGHTINGS,
    partition_of,
)
from scentline.streams.transport.database import JournalFormatError, JournalMissingError, open_writer
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint, last_line, printed, scentline

SIZE = (7, 6, 40, 4)  # seed, sites, pages a site, topics
KEY = "key"
BUDGET = 50
PARTITIONS = 2
#: Few visitors are kept of a page, so that most users are left out at some.
BOUNDS = {"streams.partitions": PARTITIONS, "frontier.visitors": 2, "frontier.explore": 0.2}

ADDRESSES = ("203.0.113.77", "2001:db8::dead:77")
NAMES = ("Zebedee.Quill", "quill@corp.example")
MAILS = ("zebedee@private.example", "zebedee%40private.example")
SECRETS = ("Tok3nZxQ", "Sess10nZxQ", "Passw0rdZxQ", "L0g1nZxQ", "Apik3yZxQ", "C00kieZxQ")
PLANTED = (*ADDRESSES, *NAMES, *MAILS, *SECRETS)


def planted_lines(urls: list[str]) -> list[str]:
    """Return lines whose users and URLs must not be found anywhere, and lines that can't be read."""
    lines = []
    query = "page=2&access_token=Tok3nZxQ&PHPSESSID=Sess10nZxQ&pw=Passw0rdZxQ&to=zebedee%40private.example"
    referrer = "http://x.example/in;jsessionid=Sess10nZxQ?mail=zebedee@private.example&api_key=Apik3yZxQ"
    for number, url in enumerate(urls):
        who = f"{ADDRESSES[number % 2]} - {('-', *NAMES)[number % 3]}"
        at = f"[09/Jan/2024:0{number // 60}:{number % 60:02d}:00 +0000]"
        asked = (f"{url};jsessionid=Sess10nZxQ?{query}", f"{url}?cookie=a&sid=C00kieZxQ", url)[number % 3]
        lines.append(f'{who} {at} "GET {asked} HTTP/1.1" 200 5 "{referrer}" "Mozilla/5.0 (X11)"')
    site = urls[0].split("/", 3)[2]
    lines += [
        f'{ADDRESSES[0]} - {NAMES[0]} [nonsense] "GET /?token=Tok3nZxQ HTTP/1.1" 200 5 "-" "-"',
        f'{ADDRESSES[0]} - - [09/Jan/2024:05:00:00 +0000] "GET http://me:L0g1nZxQ@{site}/ HTTP/1.1" 200 5',
        f'{ADDRESSES[0]} - - [09/Jan/2024:05:00:01 +0000] "GET http://{site}/u/{MAILS[0]} HTTP/1.1" 200 5',
        "\\x00" + "".join(PLANTED),
    ]
    return lines


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*SIZE) as server:
        yield server.url


class Crawl:
    """A finished crawl, in a directory that also has its log."""

    def __init__(self, cwd: Path, proxy: str) -> None:
        self.cwd = cwd
        self.data = cwd / "data"
        self.variables = {
            **{"SCENTLINE_FETCH__PROXY": proxy, "SCENTLINE_FETCH__DELAY_SECONDS": "0"},
            **{"SCENTLINE_LOG__LEVEL": "debug", "SCENTLINE_OBSERVE__USER_KEY": KEY},
        }
        options = [part for name, value in BOUNDS.items() for part in ("--set", f"{name}={value}")]
        self.options = ("--data", "data", *options)
        sections: dict[str, Any] = {"data": self.data, "observe": {"user_key": KEY}}
        for name, value in BOUNDS.items():
            section, _, key = name.partition(".")
            sections.setdefault(section, {})[key] = value
        self.settings = Settings.model_validate(sections)

    def run(self, budget: int) -> str:
        """Crawl; return all that was printed."""
        run = scentline(
            self.cwd,
            *("crawl", "--log", "access.log", "--labels", "labels.tsv", "--budget", str(budget)),
            *("--predicate", 'sports=category("Sports")', *self.options, "--json"),
            **self.variables,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout + run.stderr

    def copy(self, to: Path, proxy: str) -> "Crawl":
        shutil.copytree(self.cwd, to, dirs_exist_ok=True)
        return Crawl(to, proxy)

    def users(self) -> list[str]:
        """Return the users of the accesses, those with most first."""
        with Journal.open(self.data / "journal", read_only=True) as journal:
            found = [access.user for access in accesses(journal)]
        return sorted(set(found), key=lambda user: (-found.count(user), user))

    def check(self) -> None:
        report = audit(self.settings)
        assert (report.differences, report.lost, report.judged_twice, report.behind) == (0, 0, 0, 0)
        assert report.judged

    def holding(self, text: str) -> list[str]:
        """Return the tables and files that hold a text, decoded and as raw bytes."""
        sought = text.encode()
        with closing(open_writer(self.data / "journal")) as db:
            parts = {"the log": db.log, **db.columns}
            found = [
                name
                for name, part in parts.items()
                for key, value in part.scan(b"")
                if sought in key or sought in value
            ]
        files = [path for path in self.data.rglob("*") if path.is_file()]
        return found + [str(path) for path in files if sought in path.read_bytes()]


def pseudonym(identity: str) -> str:
    return hmac.new(KEY.encode(), identity.encode(), hashlib.sha256).hexdigest()[:16]


@pytest.fixture(scope="module")
def printed_and_crawl(proxy: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Crawl]:
    cwd = tmp_path_factory.mktemp("crawl")
    web = SyntheticWeb(*SIZE)
    urls = [url for url, _ in web.labels()][:60]
    log = [*planted_lines(urls), *web.access_log(users=12, accesses=400)]
    (cwd / "access.log").write_text("".join(f"{line}\n" for line in log))
    (cwd / "labels.tsv").write_text("".join(f"{url}\t{name}\n" for url, name in web.labels()))
    crawl = Crawl(cwd, proxy)
    return crawl.run(BUDGET), crawl


@pytest.fixture
def crawl(printed_and_crawl: tuple[str, Crawl], tmp_path: Path, proxy: str) -> Crawl:
    return printed_and_crawl[1].copy(tmp_path, proxy)


def records(journal: Journal) -> Iterator[tuple[str, bytes]]:
    """Yield every record of every topic, pages decompressed."""
    for topic, meta in journal.topics().items():
        for partition in range(meta.partitions):
            for entry in journal.read(topic, partition, 0, 1_000_000, 2**40):
                value = entry.value or b""
                if topic == PAGES.name:
                    page = msgspec.msgpack.decode(value, type=FetchedPage)
                    value += zstandard.ZstdDecompressor().decompress(page.body, max_output_size=10_000_000)
                yield topic, (entry.key or b"") + b" " + value


def test_no_planted_identity_or_secret_is_in_a_topic_a_table_a_file_or_a_log_line(
    printed_and_crawl: tuple[str, Crawl],
) -> None:
    text, crawl = printed_and_crawl
    crawl.check()
    with Journal.open(crawl.data / "journal", read_only=True) as journal:
        written = list(records(journal))
        pages = {
            access.url for access in accesses(journal) if access.user in map(pseudonym, (*ADDRESSES, *NAMES))
        }
    topics = {topic for topic, _ in written}
    assert {
        ACCESSES.name,
        SIGHTINGS.name,
        PAGES.name,
        OUTCOMES.name,
        EVIDENCE.name,
        DEAD_LETTERS.name,
    } <= topics
    assert len(pages) >= 60, "the planted lines were not taken in"
    assert any(url.endswith("?page=2") for url in pages)
    log = (crawl.cwd / "access.log").read_text()
    for planted in PLANTED:
        assert planted in log
        assert [topic for topic, record in written if planted.encode() in record] == []
        assert crawl.holding(planted) == []
        assert planted not in text
    for name in ("audit", "dead-letters", "harvest"):
        shown = scentline(crawl.cwd, name, *crawl.options, **crawl.variables)
        assert [planted for planted in PLANTED if planted in shown.stdout + shown.stderr] == []


@pytest.mark.parametrize("place", [0, -1])
def test_a_forgotten_user_is_nowhere_and_every_count_stays_exact(crawl: Crawl, place: int) -> None:
    users = crawl.users()
    user = users[place]
    assert crawl.holding(user)
    forgotten = forget_user(crawl.settings, user, is_name=False)
    assert forgotten.entries > 0
    assert crawl.holding(user) == []
    assert not (crawl.data / PLAN_FILE).exists()
    left = crawl.users()
    assert len(left) == len(users)
    assert set(users) - set(left) == {user}
    crawl.check()
    crawl.run(2 * BUDGET)
    crawl.check()
    assert crawl.holding(user) == []


def test_the_command_knows_a_user_by_the_name_in_the_log(crawl: Crawl) -> None:
    command = ("forget-user", NAMES[0], *crawl.options)
    assert crawl.holding(pseudonym(NAMES[0]))
    first = json.loads(printed(crawl.cwd, *command, "--json", **crawl.variables))
    assert first["entries"] > 0
    assert crawl.holding(pseudonym(NAMES[0])) == []
    again = printed(crawl.cwd, *command, **crawl.variables)
    assert again.startswith("nothing was found")
    by_pseudonym = ("forget-user", "--pseudonym", pseudonym(ADDRESSES[0]), *crawl.options)
    assert printed(crawl.cwd, *by_pseudonym, **crawl.variables).startswith("forgotten: ")
    report = last_line(printed(crawl.cwd, "audit", *crawl.options, "--json", **crawl.variables))
    assert (report["differences"], report["lost"]) == (0, 0)


@pytest.mark.parametrize("step", ["rewrite", "purge", "end"])
def test_forgetting_that_is_interrupted_is_completed_before_anything_else(
    crawl: Crawl, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = crawl.users()[0]

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    if step == "rewrite":  # the log is done, the tables are not
        monkeypatch.setattr("scentline.agents.operate.privacy.forget.tables", killed)
    else:
        monkeypatch.setattr(forgetting, step, killed)
    with pytest.raises(KeyboardInterrupt):
        forget_user(crawl.settings, user, is_name=False)
    monkeypatch.undo()
    replacement = pending(crawl.data)
    assert replacement is not None
    assert (crawl.data / PLAN_FILE).stat().st_mode & 0o777 == 0o600
    assert replacement.old == user
    with pytest.raises(ConfigurationError, match="forget-user was interrupted here"):
        open_journal(crawl.settings)
    forget_user(crawl.settings, user, is_name=False)
    assert crawl.holding(user) == []
    assert replacement.new in crawl.users()
    crawl.check()


def test_raw_lines_of_the_user_are_deleted_and_those_of_others_stay(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data": tmp_path, "observe": {"user_key": KEY}})
    line = "1704700851.083 1 {} TCP_MISS/200 5 GET http://a.example/ {} HIER_DIRECT/- text/html"
    lines = [line.format("192.0.2.7", "alice"), line.format("192.0.2.8", "bob"), "alice damaged", "bob damaged"]
    lines += [line.format("192.0.2.7", "bob"), line.format("192.0.2.7", "-")]
    with open_journal(settings) as journal:
        for text in lines:
            journal.append(PROXY_LOG.name, 0, None, text.encode(), 1.0)

    def left() -> list[int]:
        with open_journal(settings) as journal:
            return [entry.offset for entry in journal.read(PROXY_LOG.name, 0, 0, 100)]

    assert forget_user(settings, "alice", is_name=True) == Forgotten(0, 2)
    assert left() == [1, 3, 4, 5]
    assert forget_user(settings, pseudonym("192.0.2.7"), is_name=False) == Forgotten(0, 1)
    assert left() == [1, 3, 4]
    assert forget_user(settings, "192.0.2.7", is_name=True) == Forgotten(0, 1)
    assert left() == [1, 3]
    raw = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"alice" not in raw
    assert b"bob" in raw


def test_of_another_versions_data_nothing_is_replaced(tmp_path: Path) -> None:
    db = Rdict(str(tmp_path / "journal"), Options(raw_mode=True))
    db[b"u"] = pseudonym("alice").encode()
    db.close()
    begin(tmp_path, Replacement(pseudonym("alice"), pseudonym("bob")))
    with pytest.raises(JournalFormatError):
        forget_user(Settings(data=tmp_path), pseudonym("alice"), is_name=False)
    assert pending(tmp_path) is not None


def test_what_can_not_be_forgotten_is_told(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data": tmp_path / "data"})
    with pytest.raises(JournalMissingError, match="nothing there"):
        forget_user(settings, "alice", is_name=True)
    with open_journal(settings):
        pass
    with pytest.raises(ConfigurationError, match="no key of the pseudonyms"):
        forget_user(settings, "alice", is_name=True)
    with pytest.raises(ConfigurationError, match="16 hexadecimal digits"):
        forget_user(settings, "alice", is_name=False)
    assert "alice" not in complaint(
        tmp_path, "forget-user", "alice", "--data", "data", SCENTLINE_OBSERVE__USER_KEY=""
    )


def test_a_replacement_stays_in_its_partitions_and_bounds() -> None:
    old = pseudonym("alice")
    bounds = Bounds(int(old, 16) - 10**9, int(old, 16) + 10**9)
    for _ in range(20):
        new = choose(old, bounds, 5).new
        assert new != old
        assert bounds.above < int(new, 16) < bounds.below
        for prefix in ("", "u:"):
            assert partition_of(prefix + new, 5) == partition_of(prefix + old, 5)
    with pytest.raises(ConfigurationError, match="found no pseudonym"):
        choose(old, Bounds(int(old, 16) - 1, int(old, 16) + 1), 1)
