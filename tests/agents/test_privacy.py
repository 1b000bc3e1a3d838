"""Users' identities and secrets: none is written, nothing is for others to read, a user is forgotten."""

import hashlib
import hmac
import json
import logging
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import zstandard
from rocksdict import Options, Rdict

from scentline.agents.observe.agent import Positions
from scentline.agents.observe.pseudonym import KEY_FILE, kept_key, user_key
from scentline.agents.operate import forget as forgetting
from scentline.agents.operate.audit import audit
from scentline.agents.operate.forget import Forgotten, forget_user
from scentline.agents.operate.record import accesses
from scentline.agents.operate.replacement import PLAN_FILE, Bounds, Replacement, begin, choose, key_of, pending
from scentline.agents.stored import write_stored
from scentline.agents.worker.connect import open_journal
from scentline.agents.worker.directory import make_directory
from scentline.models.records import FetchedPage, LogPosition, encode, partition_of
from scentline.streams import topics
from scentline.streams.settings import ConfigurationError, ObserveSettings, Settings
from scentline.streams.topics import ACCESSES, EVIDENCE, OUTCOMES, PAGES, PROXY_LOG, SIGHTINGS
from scentline.streams.transport.database import open_writer
from scentline.streams.transport.journal import Journal, JournalFormatError
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint, printed, scentline
from tests.cases import each_case
from tests.e2e.crawls import options, synthetic, write_labels

WEB = SyntheticWeb(7, 6, 40, 4)
KEY = "key"
BUDGET = 30
#: Few visitors are kept of a page, so that most users are left out at some.
GIVEN = {"streams.partitions": 2, "frontier.visitors": 2, "frontier.explore": 0.2}
LOUD = {"SCENTLINE_LOG__LEVEL": "debug"}

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
    return [
        *lines,
        f'{ADDRESSES[0]} - {NAMES[0]} [nonsense] "GET /?token=Tok3nZxQ HTTP/1.1" 200 5 "-" "-"',
        f'{ADDRESSES[0]} - - [09/Jan/2024:05:00:00 +0000] "GET http://me:L0g1nZxQ@{site}/ HTTP/1.1" 200 5',
        f'{ADDRESSES[0]} - - [09/Jan/2024:05:00:01 +0000] "GET http://{site}/u/{MAILS[0]} HTTP/1.1" 200 5',
        "\\x00" + "".join(PLANTED),
    ]


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic(WEB) as served:
        yield served.origin


def crawl(cwd: Path, proxy: str, budget: int = BUDGET) -> str:
    given = {**GIVEN, "fetch.proxy": proxy, "fetch.delay_seconds": 0}
    run = scentline(
        cwd, "crawl", "--log", "access.log", "--labels", "labels.tsv", "--budget", f"{budget}", "--json",
        "--predicate", 'sports=category("Sports")', *options(given), **LOUD,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout + run.stderr


@pytest.fixture(scope="module")
def crawled(proxy: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return what a crawl printed, and its directory, which also has the log."""
    cwd = tmp_path_factory.mktemp("crawl")
    log = [*planted_lines([url for url, _ in WEB.labels()][:60]), *WEB.access_log(users=12, accesses=400)]
    (cwd / "access.log").write_text("".join(f"{line}\n" for line in log))
    write_labels(cwd / "labels.tsv", WEB)
    return crawl(cwd, proxy), cwd


def settings_of(cwd: Path) -> Settings:
    given = {"streams": {"partitions": 2}, "frontier": {"visitors": 2}, "observe": {"user_key": KEY}}
    return Settings.model_validate({"data": cwd / "scentline-data", **given})


@pytest.fixture
def settings(crawled: tuple[str, Path], tmp_path: Path) -> Settings:
    shutil.copytree(crawled[1], tmp_path, dirs_exist_ok=True)
    return settings_of(tmp_path)


def pseudonym(identity: str) -> str:
    return hmac.new(KEY.encode(), identity.encode(), hashlib.sha256).hexdigest()[:16]


def users(settings: Settings) -> list[str]:
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        found = [access.user for access in accesses(journal)]
    return sorted(set(found), key=lambda user: (-found.count(user), user))


def check(settings: Settings) -> None:
    report = audit(settings)
    assert report.clean and report.judged, report.examples


def holding(settings: Settings, text: str) -> list[str]:
    """Return the tables and files that hold a text, decoded and as raw bytes."""
    sought = text.encode()
    with closing(open_writer(settings.data / "journal")) as db:
        parts = {"the log": db.log, **db.columns}
        rows = ((name, row) for name, part in parts.items() for row in part.scan(b""))
        found = [name for name, (key, value) in rows if sought in key or sought in value]
    files = [path for path in settings.data.rglob("*") if path.is_file()]
    return found + [str(path) for path in files if sought in path.read_bytes()]


def records(journal: Journal) -> Iterator[tuple[str, bytes]]:
    for topic, meta in journal.topics().items():
        for partition in range(meta.partitions):
            for entry in journal.read(topic, partition, 0, 1_000_000, 2**40):
                value = entry.value or b""
                if topic == PAGES.name:
                    page = msgspec.msgpack.decode(value, type=FetchedPage)
                    value += zstandard.ZstdDecompressor().decompress(page.body, max_output_size=10_000_000)
                yield topic, (entry.key or b"") + b" " + value


def test_no_planted_identity_or_secret_is_in_a_topic_table_file_or_log_line(crawled: tuple[str, Path]) -> None:
    text, cwd = crawled
    settings = settings_of(cwd)
    check(settings)
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        written = list(records(journal))
        them = {*map(pseudonym, (*ADDRESSES, *NAMES))}
        pages = {access.url for access in accesses(journal) if access.user in them}
    named = (ACCESSES, SIGHTINGS, PAGES, OUTCOMES, EVIDENCE, topics.DEAD_LETTERS)
    assert {topic.name for topic in named} <= {topic for topic, _ in written}
    assert len(pages) >= 60, "the planted lines were not taken in"
    assert any(url.endswith("?page=2") for url in pages)
    shown = (scentline(cwd, name, *options(GIVEN), **LOUD) for name in ("audit", "dead-letters", "harvest"))
    text += "".join(run.stdout + run.stderr for run in shown)
    log = (cwd / "access.log").read_text()
    for planted in PLANTED:
        assert planted in log
        assert [topic for topic, record in written if planted.encode() in record] == []
        assert holding(settings, planted) == []
        assert planted not in text


# forgetting


@pytest.mark.parametrize("place", [0, -1])
def test_a_forgotten_user_is_nowhere_and_counts_stay_exact(settings: Settings, proxy: str, place: int) -> None:
    before = users(settings)
    user = before[place]
    assert holding(settings, user)
    assert forget_user(settings, user, is_name=False).entries > 0
    assert holding(settings, user) == []
    assert not (settings.data / PLAN_FILE).exists()
    left = users(settings)
    assert len(left) == len(before)
    assert {*before} - {*left} == {user}
    check(settings)
    crawl(settings.data.parent, proxy, 2 * BUDGET)
    check(settings)
    assert holding(settings, user) == []


def test_the_command_knows_a_user_by_the_name_in_the_log(settings: Settings) -> None:
    def forget(*who: str) -> str:
        return printed(settings.data.parent, "forget-user", *who, *options(GIVEN))

    assert holding(settings, pseudonym(NAMES[0]))
    assert json.loads(forget(NAMES[0], "--json"))["entries"] > 0
    assert holding(settings, pseudonym(NAMES[0])) == []
    assert forget(NAMES[0]).startswith("nothing was found")
    assert forget("--pseudonym", pseudonym(ADDRESSES[0])).startswith("forgotten: ")
    check(settings)


#: The log is done and the tables are not, and the other steps.
@pytest.mark.parametrize("step", ["tables", "rewrite", "purge", "end"])
def test_forgetting_is_completed_first(settings: Settings, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    user = users(settings)[0]

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(forgetting, step, killed)
    with pytest.raises(KeyboardInterrupt):
        forget_user(settings, user, is_name=False)
    monkeypatch.undo()
    replacement = pending(settings.data)
    assert replacement is not None
    assert (settings.data / PLAN_FILE).stat().st_mode & 0o777 == 0o600
    assert replacement.old == user
    with pytest.raises(ConfigurationError, match="forget-user was interrupted here"):
        open_journal(settings)
    forget_user(settings, user, is_name=False)
    assert holding(settings, user) == []
    assert replacement.new in users(settings)
    check(settings)


def test_raw_lines_of_the_user_are_deleted_and_those_of_others_stay(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data": tmp_path, "observe": {"user_key": KEY}})
    line = "1704700851.083 1 {} TCP_MISS/200 5 GET http://a.example/ {} HIER_DIRECT/- text/html"
    lines = [line.format("192.0.2.7", "alice"), line.format("192.0.2.8", "bob"), "alice damaged", "bob damaged"]
    lines += [line.format("192.0.2.7", "bob"), line.format("192.0.2.7", "-")]
    with open_journal(settings) as journal:
        for text in lines:
            journal.append(PROXY_LOG.name, 0, None, text.encode(), 1.0)
    steps = (
        ("alice", True, 2, [1, 3, 4, 5]),
        (pseudonym("192.0.2.7"), False, 1, [1, 3, 4]),
        ("192.0.2.7", True, 1, [1, 3]),
    )
    for user, is_name, deleted, left in steps:
        assert forget_user(settings, user, is_name=is_name) == Forgotten(0, deleted)
        with open_journal(settings) as journal:
            assert [entry.offset for entry in journal.read(PROXY_LOG.name, 0, 0, 100)] == left
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


def test_without_the_key_no_name_is_forgotten_nor_told(tmp_path: Path) -> None:
    with open_journal(Settings(data=tmp_path)):
        pass
    said = complaint(tmp_path, "forget-user", "alice", "--data", ".", SCENTLINE_OBSERVE__USER_KEY="")
    assert "no key of the pseudonyms" in said and "alice" not in said


def test_a_replacement_stays_in_its_partitions_and_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    old = pseudonym("alice")
    bounds = Bounds(int(old, 16) - 10**9, int(old, 16) + 10**9)
    for _ in range(5):
        new = choose(old, bounds, 5).new
        assert new != old
        assert bounds.above < int(new, 16) < bounds.below
        for prefix in ("", "u:"):
            assert partition_of(prefix + new, 5) == partition_of(prefix + old, 5)
    monkeypatch.setattr("scentline.agents.operate.replacement._ATTEMPTS", 1_000)
    with pytest.raises(ConfigurationError, match="found no pseudonym"):
        choose(old, Bounds(int(old, 16) - 1, int(old, 16) + 1), 1)


# files of a data directory: their owner's alone, written whole, and none that waits or leads elsewhere


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_what_commands_write_is_their_owners_alone(tmp_path: Path) -> None:
    data = tmp_path / "scentline-data"
    (tmp_path / "access.log").write_text("".join(WEB.access_log(1, 1)))
    printed(tmp_path, "feed", "access.log", SCENTLINE_OBSERVE__USER_KEY="")
    printed(tmp_path, "predicate", "add", "tea", '"tea"')
    assert [path for path in (data, *data.rglob("*")) if mode(path) & 0o077] == []
    assert (data / KEY_FILE).is_file()
    for content in (bytes(32), b"\n", b""):
        (data / KEY_FILE).write_bytes(content)
        with pytest.raises(ConfigurationError, match="the file is empty, expected the key"):
            key_of(Settings(data=data))
    said = complaint(tmp_path, "feed", "access.log", SCENTLINE_OBSERVE__USER_KEY="")
    assert "the file is empty, expected the key" in said and "\n" not in said


@pytest.mark.usefixtures("usual_umask")
def test_a_directory_of_an_earlier_version_is_closed_to_others_but_for_what_is_not_ours(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("journal", "kept", "requests"):
        (data / name).mkdir(parents=True)
    (data / "crawl.json").write_text("{}")
    (data / "kept").chmod(0o750)  # open to its group alone
    make_directory(data)
    assert [mode(path) for path in (data, data / "journal", data / "kept", data / "requests")] == [0o700] * 4
    assert mode(data / "crawl.json") == 0o600
    (tmp_path / "journal").mkdir()
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "kept").symlink_to("notes")
    make_directory(tmp_path)
    assert [mode(tmp_path / name) for name in ("journal", "notes")] == [0o700, 0o644]


@each_case(("given", "why"), [(0o644, "read"), (0o660, "write"), (0o606, "write")])
def test_an_open_key_is_closed(tmp_path: Path, given: int, why: str, caplog: pytest.LogCaptureFixture) -> None:
    kept = tmp_path / KEY_FILE
    kept.write_bytes(b"k" * 32)
    kept.chmod(given)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert kept_key(kept) == b"k" * 32
    assert mode(kept) == 0o600
    assert f"others could {why} the key" in caplog.text and "kkkk" not in caplog.text


@pytest.mark.timeout(60)
def test_a_key_follows_no_link_and_is_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    for name in (f"{KEY_FILE}.new", f"{KEY_FILE}.partial"):
        (tmp_path / name).symlink_to("theirs")
    key = user_key(ObserveSettings(), tmp_path / KEY_FILE)
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert (tmp_path / KEY_FILE).read_bytes() == key and not (tmp_path / KEY_FILE).is_symlink()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    for name in ("pipe", "directory"):
        with pytest.raises(ConfigurationError, match="can't be read: not a plain file"):
            kept_key(tmp_path / name)
    write_stored(tmp_path / "file", b"first")
    (tmp_path / "file.partial").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_stored(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"


def test_a_position_that_is_no_record_is_passed_over() -> None:
    positions = Positions("a reading")
    position = encode(LogPosition(line=7, reading="a reading"))
    positions.hear(b"log 1f", position)
    for key, value in (
        (b"log 1f", b"rubbish"),
        (b"log \xff", b"\x81" * 100_000),
        (b"log 1f", b""),
        (b"harvest 2f", position),
    ):
        positions.hear(key, value)
    assert (positions.line("1f"), positions.line("2f")) == (7, 0)
