"""``scentline changes``: what was told of the matches, each once, for people, programs and feed readers."""

import csv
import io
import json
import os
import re
import stat
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.agents.cli.changes import ITEMS, TITLE, feed, guid, told
from scentline.agents.worker.connect import open_journal
from scentline.models.published import Change, PredicateDefinition
from scentline.streams.settings import Settings, StreamSettings
from scentline.streams.topics import CHANGES, CONTROL
from scentline.streams.transport.journal import Journal
from tests.agents.commands import IN_BACKGROUND, complaint, printed, running, wait_until
from tests.patience import PATIENCE

#: What a page may say of itself to a terminal, a spreadsheet, a feed's reader and its XML parser.
HOSTILE = '=1+1 <script>alert("x")</script> &lt;b&gt; ]]> \x1b[2J \x00 \ufffe \u202e tea'
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp()


def a_change(number: int, *, predicate: str = "tea", kind: str = "appeared", **fields: Any) -> Change:
    usual: dict[str, Any] = {
        "time": NOON + number,
        "title": f"title {number}",
        "origin": f"sightings/0@{number}",
    }
    return Change(predicate=predicate, kind=kind, url=f"http://a.org/{number}", **usual | fields)


def tell(data: Path, *changes: Change | bytes, partition: int = 0) -> None:
    values = [change if isinstance(change, bytes) else msgspec.json.encode(change) for change in changes]
    with Journal.open(data / "journal") as journal:
        journal.append_all([(CHANGES.name, partition, None, value) for value in values], 0.0)


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """Return a directory with a crawl that looks for tea and coffee, which has told nothing yet."""
    known = [PredicateDefinition(name=name, expression=f'"{name}"') for name in ("tea", "coffee")]
    with open_journal(a_crawl(tmp_path)) as journal:
        definitions = [(CONTROL.name, 0, each.name.encode(), msgspec.json.encode(each)) for each in known]
        journal.append_all(definitions, 0.0)
    return tmp_path


def a_crawl(cwd: Path) -> Settings:
    return Settings(data=cwd / "scentline-data", streams=StreamSettings(partitions=2))


def lines(cwd: Path, *arguments: str) -> list[Any]:
    return [json.loads(line) for line in printed(cwd, "changes", "--format", "jsonl", *arguments).splitlines()]


def items(text: bytes | str) -> list[dict[str, str]]:
    channel = ElementTree.fromstring(text).find("channel")
    assert channel is not None
    return [{part.tag: part.text or "" for part in item} for item in channel.iter("item")]


def test_changes_are_told_in_the_order_of_visits_each_once(cwd: Path) -> None:
    other = a_change(2, predicate="coffee", origin="sightings/0@1")
    tell(cwd / "scentline-data", a_change(1), other, a_change(1), b"rubbish", a_change(4))
    tell(cwd / "scentline-data", a_change(3, kind="left"), partition=1)
    found = [change for batch in told(a_crawl(cwd), follow=False) for change in batch]
    assert [(change.predicate, change.time - NOON) for change in found] == [
        ("tea", 1), ("coffee", 2), ("tea", 3), ("tea", 4),
    ]  # fmt: skip


def test_programs_get_each_change_with_times_by_iso_8601(cwd: Path) -> None:
    moved = {"kind": "moved", "reason": "redirects", "target": "http://b.org/", "excerpt": HOSTILE}
    tell(cwd / "scentline-data", a_change(1, before=NOON - 3600.0, **moved))
    (found,) = lines(cwd)
    assert lines(cwd, "--out", "changes.jsonl") == []
    assert json.loads((cwd / "changes.jsonl").read_text()) == found
    assert found == moved | {
        "time": "2026-05-01T12:00:01.000+00:00", "predicate": "tea", "url": "http://a.org/1",
        "title": "title 1", "before": "2026-05-01T11:00:00.000+00:00", "origin": "sightings/0@1",
    }  # fmt: skip
    out = printed(cwd, "changes", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert row.keys() == found.keys()
    assert row["excerpt"].startswith("'=1+1 ")
    assert out.replace("\n", "").isprintable()


def test_people_are_told_of_what_they_ask_for_and_how_long_ago_it_was(cwd: Path) -> None:
    now = datetime.now(UTC).timestamp()
    tell(
        cwd / "scentline-data",
        a_change(1, time=now - 15 * 86_400, kind="left", reason="status 410"),
        a_change(2, predicate="coffee", time=now - 7_300, title=HOSTILE, excerpt="tea " * 100),
        a_change(3, time=now + 60),
    )
    rows = [line.split("\t") for line in printed(cwd, "changes").splitlines()[1:]]
    assert [row[0] for row in rows] == ["2 weeks ago", "2 hours ago", "just now"]
    assert rows[0][1:] == ["tea", "left", "title 1", "http://a.org/1", "status 410"]
    assert all(cell.isprintable() and len(cell) < 1_000 for row in rows for cell in row)
    day = f"{datetime.fromtimestamp(now - 86_400, UTC):%Y-%m-%d}"
    for asked, urls in {
        (): "123", ("--predicate", "tea"): "13", ("--since", "1d"): "23", ("--since", day): "23",
        ("--since", "30m", "--predicate", "coffee"): "", ("--since", f"{day}T00:00:00Z"): "23",
    }.items():  # fmt: skip
        assert "".join(found["url"][-1] for found in lines(cwd, *asked)) == urls


def test_a_crawl_that_visits_no_page_again_is_said_to_be_one(cwd: Path) -> None:
    said = complaint(cwd, "changes", "--format", "rss", "--out", "feed.xml")
    assert "only a crawl that visits pages again" in said
    assert not (cwd / "feed.xml").exists()
    assert lines(cwd, "--set", "frontier.revisit=0.5") == []
    tell(cwd / "scentline-data", a_change(1))
    assert "can't be written" in complaint(cwd, "changes", "--format", "rss", "--out", ".")
    assert not list(cwd.glob("*.partial"))


class _Text(HTMLParser):
    """What a reader program shows of HTML, a line a paragraph, and the tags it meets."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.shown: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        self.shown.append("")

    def handle_data(self, data: str) -> None:
        self.shown[-1] += data


TEXTS = st.text(max_size=60) | st.just(HOSTILE)
TIMES = st.integers(-62_135_596_800, 253_402_300_799).map(float)
CHANGED = st.builds(
    Change, predicate=TEXTS, kind=st.sampled_from(["appeared", "changed", "left", "moved"]), time=TIMES,
    url=st.sampled_from(["http://a.org/?a=1&b=%3C%22", "http://b.org/'"]), before=st.none() | TIMES,
    title=TEXTS, excerpt=TEXTS, reason=TEXTS, target=st.sampled_from(["", "http://c.org/?x&y"]),
    origin=st.sampled_from(["sightings/0@1", "sightings/1@7"]),
)  # fmt: skip


@given(TEXTS, st.lists(CHANGED, max_size=3))
@example("x", [a_change(1, title="<b>Tea & milk</b>"), a_change(2, title="", kind="left")])
def test_a_feed_is_whole_and_readers_see_only_text(title: str, changes: list[Change]) -> None:
    rss = ElementTree.fromstring(feed(title, changes))
    assert (rss.tag, rss.get("version"), [part.tag for part in rss]) == ("rss", "2.0", ["channel"])
    assert {"title", "link", "description"} <= {part.tag for part in rss[0]}
    found = items(feed(title, changes))
    assert len(found) == len(changes)
    for item, change in zip(found, changes, strict=True):
        assert set(item) == {"title", "link", "description", "category", "pubDate", "guid"}
        assert item["link"] == (change.target or change.url)
        if change.title.isprintable() and len(change.title) < TITLE:  # the URL where there is none
            assert item["title"] == f"{change.kind.capitalize()}: {change.title or change.url}"
        if change.time >= 0:  # in the first centuries years have fewer than four digits
            assert parsedate_to_datetime(item["pubDate"]).timestamp() == change.time
        read = _Text(item["description"])
        assert read.tags <= {"p"}
        if change.excerpt == HOSTILE:
            assert read.shown[0] == re.sub("[\x00\x1b\ufffe\u202e]", "", HOSTILE)


def test_a_change_has_one_name_and_no_other_has_it() -> None:
    one = a_change(1)
    others = [
        a_change(1, predicate="coffee"), a_change(1, kind="left"), a_change(1, origin="sightings/1@1"),
        a_change(1, time=NOON), a_change(2, origin=one.origin, time=one.time),
    ]  # fmt: skip
    assert guid(one) == guid(a_change(1, title="told anew"))
    assert len({guid(one), *map(guid, others)}) == 6


def test_a_feed_of_the_newest_changes_takes_the_place_of_the_one_before(cwd: Path) -> None:
    tell(cwd / "scentline-data", *(a_change(number) for number in range(ITEMS + 50)))
    place = cwd / "feed.xml"
    place.write_text("of yesterday")
    place.chmod(0o644)
    with place.open() as before:
        printed(cwd, "changes", "--format", "rss", "--out", "feed.xml")
        assert before.read() == "of yesterday", "who reads it reads one feed whole"
    links = [item["link"] for item in items(place.read_bytes())]
    assert links == [f"http://a.org/{number}" for number in range(ITEMS + 49, 49, -1)]
    assert stat.S_IMODE(place.stat().st_mode) == 0o644
    assert [path.name for path in cwd.iterdir() if "feed" in path.name] == ["feed.xml"]
    assert items(printed(cwd, "changes", "--format", "rss"))[0]["link"] == links[0]


def test_a_pipe_is_written_to_and_what_is_planted_beside_a_feed_is_not(cwd: Path) -> None:
    tell(cwd / "scentline-data", a_change(1))
    pipe, planted, place = cwd / "pipe", cwd / "planted", cwd / "feed.xml"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    printed(cwd, "changes", "--format", "rss", "--out", "pipe")
    assert len(items(os.read(reader, 1_000_000))) == 1
    os.close(reader)
    assert pipe.is_fifo()

    planted.write_text("mine")
    (cwd / "feed.xml.partial").symlink_to(planted)
    printed(cwd, "changes", "--format", "rss", "--out", "feed.xml")
    assert (planted.read_text(), len(items(place.read_bytes()))) == ("mine", 1)
    assert not place.is_symlink()


def test_a_feed_is_followed_in_the_background(cwd: Path) -> None:
    place = cwd / "feed.xml"

    def links() -> list[str]:
        return [item["link"][-1] for item in items(place.read_bytes())] if place.exists() else ["none"]

    follow = ("changes", "--follow", "--predicate", "tea", "--format", "rss", "--out", "feed.xml")
    with running(cwd, *follow, program=IN_BACKGROUND) as process:
        wait_until(lambda: links() == [], process)
        tell(cwd / "scentline-data", a_change(1), a_change(2, predicate="coffee"))
        wait_until(lambda: links() == ["1"], process)
        tell(cwd / "scentline-data", a_change(1), a_change(3), partition=1)
        wait_until(lambda: links() == ["3", "1"], process)
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_lines_are_followed(cwd: Path) -> None:
    tell(cwd / "scentline-data", a_change(1))
    with running(cwd, "changes", "--follow", "--format", "jsonl") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["url"] == "http://a.org/1"
        tell(cwd / "scentline-data", a_change(2, kind="left"))
        assert json.loads(process.stdout.readline())["kind"] == "left"
        process.terminate()
        assert process.wait(PATIENCE) == 0
