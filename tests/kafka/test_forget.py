"""``scentline forget-user`` on a real broker: all that a crawl keeps of a user, at rest and interrupted."""

import asyncio
import itertools
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka import KafkaConsumer
from rocksdict import AccessType, Options, Rdict

from scentline.agents.observe.observer import Observer
from scentline.agents.observe.pseudonym import Pseudonyms
from scentline.agents.operate import forget_kafka as kafka
from scentline.agents.operate.audit import audit
from scentline.agents.operate.forget_kafka import Changelogs, Deleted, UnrestError, bounds_on_kafka
from scentline.agents.operate.replacement import Bounds, Replacement, bounds_of
from scentline.agents.operate.topics import create, take
from scentline.agents.worker.connect import connect
from scentline.agents.worker.worker import Worker
from scentline.models.facts import Access, AccessPack
from scentline.models.frontier.keys import page_key
from scentline.models.frontier.rows import PageRow
from scentline.models.policy.features import user as user_feature
from scentline.models.records import encode
from scentline.streams.settings import ConfigurationError, Settings, load
from scentline.streams.topics import DAY, INTERESTS, TABLES, TOPICS, changelog_of
from scentline.streams.transport.commits import FORGETTING
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.kafka.admin import Admin, kept
from scentline.streams.transport.kafka.bus import CLAIM
from scentline_lab.synthetic.web import SyntheticWeb, synthetic_server
from tests.agents.commands import last_line, printed
from tests.e2e.crawls import options, write_labels, write_log
from tests.kafka.crawls import commit, drop, send
from tests.patience import PATIENCE, wait_for
from tests.rubbish.measured import run

WEB = (5, 3, 30, 3)  # seed, sites, pages a site, topics
PARTITIONS = 2
BUDGET = 25
#: Few visitors are kept of a page, so that most users are left out at some.
BOUNDS = {"streams.partitions": PARTITIONS, "frontier.visitors": 2, "frontier.explore": 0.2}
#: Compacted topics and their partitions, None where they shard.
COMPACTED = {
    **{changelog_of(table): None for table in TABLES},
    **{topic.name: None if topic.shards else 1 for topic in TOPICS if topic.compacted},
}
USER = "0123456789abcdef"
KEY = Pseudonyms(b"key")

#: Kills the command when it has replaced some rows, and not others.
KILLING = """\
import os, signal
from scentline.agents.operate.forget_kafka import Changelogs
replace = Changelogs.replace
async def killing(self, place, replacement):
    if place == ("scentline-frontier-changelog", 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return await replace(self, place, replacement)
Changelogs.replace = killing
"""


def created(broker: str, data: Path = Path("unused"), partitions: int = 1) -> Settings:
    """Return settings whose topics are made."""
    given = {**BOUNDS, "streams.partitions": partitions, "observe.user_key": "key"}
    settings = load({**given, "broker": broker, "data": data}, environ={}).settings
    create(settings)
    return settings


def forgotten(settings: Settings) -> kafka.ForgottenOnKafka:
    return kafka.forget_user_on_kafka(settings, USER, is_name=False, progress=lambda _: None)


def newest(settings: Settings) -> Iterator[tuple[str, bytes, bytes]]:
    """Yield the newest value of each key of every compacted topic: topic, key, value."""
    for topic, partitions in COMPACTED.items():
        for partition in range(partitions or settings.streams.partitions):
            last = {entry.key: entry.value for entry in kept(settings, topic, partition)}
            yield from ((topic, key or b"", value) for key, value in last.items() if value is not None)


def rows_holding(data: Path, text: str) -> list[str]:
    """Return the tables under a worker's data directory that hold a text, once for each row."""
    found = []
    for path in sorted((data / "tables").glob("*.db")):
        db = Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
        found += [path.name for key, value in db.items() if text.encode() in key + value]
        db.close()
    return found


def crawl(directory: Path, settings: Settings) -> list[str]:
    """Crawl, with a log; return the addresses of page views, those of most views first."""
    web = SyntheticWeb(*WEB)
    log = write_log(directory / "access.log", web, users=10, accesses=150)
    write_labels(directory / "labels.tsv", web)
    with synthetic_server(*WEB) as server:
        given = BOUNDS | {"fetch.proxy": server.url, "fetch.delay_seconds": 0}
        printed(
            directory,
            *("crawl", "--log", "access.log", "--labels", "labels.tsv", "--predicate", 'm=category("Music")'),
            *("--budget", str(BUDGET), "--data", str(settings.data), "--broker", settings.broker),
            *options(given),
        )
    views = Counter(line.split()[2] for line in log.read_text().splitlines() if " TCP_MISS/200 " in line)
    return [client for client, _ in views.most_common()]


def snapshot(settings: Settings, data: Path) -> Settings:
    """Take a snapshot; return its settings."""
    copy = settings.model_copy(update={"data": data})
    take(copy, lambda _: None)
    return copy


async def open_tables(settings: Settings, roles: tuple[str, ...] = ("browse", "frontier", "learn")) -> None:
    """Have a worker recover the tables of roles and take over their partitions, and stop."""
    observer = Observer(settings.observe, b"key")
    async with asyncio.timeout(PATIENCE), Worker(settings, roles, observer) as worker:
        while worker.failure is None and any(
            len(inbox.shards) < settings.streams.partitions for inbox in worker.inboxes
        ):
            await asyncio.sleep(0.05)
    if worker.failure is not None:
        raise worker.failure


def check_bounds(settings: Settings, copy: Path, addresses: list[str]) -> None:
    """Check that what may take a pseudonym's place is the same on Kafka as in a data directory."""
    users = [KEY.of(address) for address in sorted(addresses)]
    with Admin(settings) as admin:
        partitions = kafka.partitions_on_kafka(admin)
    at_rest = snapshot(settings, copy)
    with Journal.open(at_rest.data / "journal", read_only=True) as journal:
        expected = [bounds_of(user, settings, journal) for user in users]
    assert any(found != Bounds() for found in expected)
    assert [bounds_on_kafka(user, settings, partitions) for user in users] == expected


def test_one_forgotten_at_the_second_attempt_is_nowhere_counts_exact(tmp_path: Path, empty_kafka: str) -> None:
    settings = created(empty_kafka, tmp_path / "worker", PARTITIONS)
    addresses = crawl(tmp_path, settings)
    # Of a page few visitors are kept, and of 25 pages those of most views may be none.
    counted = (address for address in addresses if rows_holding(settings.data, user_feature(KEY.of(address))))
    address = next(counted)
    held = {name.partition("-")[0] for name in rows_holding(settings.data, KEY.of(address))}
    assert held == {"users", "frontier"}
    check_bounds(settings, tmp_path / "before", addresses)

    user, command = KEY.of(address), ("forget-user", address, "--broker", empty_kafka, *options(BOUNDS))
    killed = run(tmp_path, *command, first=KILLING)
    assert killed.status == -signal.SIGKILL
    ended = run(tmp_path, *command, "--json")
    assert ended.status == 0, ended.err
    done = last_line(ended.out)
    assert done["entries"] > 0
    assert done["deleted"].keys() == {"proxy-log", "sightings", "evidence"}
    assert done["left_until"].keys() == {"accesses"}
    for text in (user, address):
        assert text not in killed.out + killed.err + ended.out + ended.err
    assert [topic for topic, key, value in newest(settings) if user.encode() in key + value] == []

    for path in (settings.data / "tables").glob("*-0.db"):  # to be recovered from its changelog
        shutil.rmtree(path)
    asyncio.run(open_tables(settings))
    assert rows_holding(settings.data, user) == []
    report = audit(snapshot(settings, tmp_path / "snapshot"))
    assert (report.judged, report.judged_twice, report.lost, report.behind) == (BUDGET, 0, 0, 0)
    # The accesses bear the old pseudonym for a week, and what is counted of that user bears the new one.
    assert sum(example.startswith("user ") for example in report.examples) == 2
    assert sum(example.startswith("feature 'u:") for example in report.examples) == 2
    assert report.differences == 4


def write(settings: Settings) -> None:
    """Write what workers that are gone have written of a user."""
    page = PageRow("http://a.example/", 1, 1, visitors=[USER])
    user = USER.encode()
    held = {
        changelog_of("users"): (b"u" + user, b"visits"),
        changelog_of("frontier"): (page_key(page.url), msgspec.msgpack.encode(page)),
        INTERESTS.name: (b"u:" + user, b"counts of u:" + user),
    }

    async def send_all() -> None:
        async with connect(settings) as log:
            await log.send_all([(topic, 0, *record) for topic, record in held.items()])

    asyncio.run(send_all())


def names(settings: Settings) -> list[frozenset[str]]:
    """Return the pseudonyms that are in each of the newest rows and values."""
    found = ((key + value).decode(errors="replace") for topic, key, value in newest(settings) if key != CLAIM)
    return [names for text in found if (names := frozenset(re.findall("[0-9a-f]{16}", text)))]


@pytest.mark.parametrize("step", [4, 6])
def test_one_that_is_interrupted_is_completed_by_the_same_command_under_one_new_name(
    empty_kafka: str, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Steps are the writings of marks: the 4th is the one that decides, the 6th takes all the others away."""
    settings = created(empty_kafka)
    write(settings)
    put_mark, steps = Changelogs._put_mark, itertools.count(1)

    async def interrupted(*arguments: Any) -> None:
        if next(steps) == step:
            raise KeyboardInterrupt
        await put_mark(*arguments)

    monkeypatch.setattr(Changelogs, "_put_mark", interrupted)
    with pytest.raises(KeyboardInterrupt):
        forgotten(settings)
    monkeypatch.undo()
    before = frozenset().union(*names(settings))
    assert (before == {USER}) == (step == 4)
    done = forgotten(settings)
    assert (done.entries == 3) == (step == 4)
    [after] = set(names(settings))
    assert len(after) == 1
    assert USER not in after
    assert step == 4 or after == before
    assert [topic for topic, key, _ in newest(settings) if key == FORGETTING] == []


def test_a_worker_that_starts_meanwhile_goes_no_further_and_the_same_command_completes_it(
    tmp_path: Path, empty_kafka: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = created(empty_kafka, tmp_path / "worker")
    write(settings)
    hold = Changelogs.hold

    async def held(changelogs: Changelogs, replacement: Replacement) -> None:
        await hold(changelogs, replacement)
        with pytest.raises(ConfigurationError, match="forget-user is running on this broker, or was inter"):
            await open_tables(settings, ("browse",))

    monkeypatch.setattr(Changelogs, "hold", held)
    with pytest.raises(UnrestError, match="scentline-users-changelog/0: another writer has claimed it") as told:
        forgotten(settings)
    assert USER not in str(told.value)
    monkeypatch.undo()
    with pytest.raises(ConfigurationError, match="snapshot: forget-user is running"):
        snapshot(settings, tmp_path / "snapshot")
    under_way = frozenset().union(*names(settings)) - {USER}
    assert forgotten(settings).entries == 3
    assert set(names(settings)) == {under_way}


def test_it_waits_for_nobody_who_has_not_taken_in_what_names_a_user(empty_kafka: str) -> None:
    settings = created(empty_kafka)
    pack = encode(AccessPack(facts=[(0, 0, Access(USER, "http://a.example/", 1.0))]))
    send(empty_kafka, "accesses", 0, [pack, pack])
    send(empty_kafka, "proxy-log", 0, [b"a line"] * 5)
    with pytest.raises(UnrestError, match="scentline-browse has not absorbed 2 messages of accesses/0"):
        forgotten(settings)
    commit(empty_kafka, "scentline-browse", "accesses", 0, 2)
    commit(empty_kafka, "scentline-observe", "proxy-log", 0, 3)
    with KafkaConsumer(
        bootstrap_servers=empty_kafka.removeprefix("kafka://"), group_id="scentline-browse"
    ) as consumer:
        # Where kafka-python joins before it knows the partitions it may be given none, and stay with none.
        assert consumer.partitions_for_topic("accesses") == {0}
        consumer.subscribe(["accesses"])
        wait_for("the member's assignment", lambda: bool(consumer.poll(100) or consumer.assignment()))
        with pytest.raises(UnrestError, match="scentline-browse has 1 live members"):
            forgotten(settings)

    done = forgotten(settings)
    assert done.deleted == Deleted({"proxy-log": 3, "sightings": 0, "evidence": 0}, unread=2)
    days = [(at - time.time()) // DAY for at in (done.left["accesses"], done.replaced_at, done.deleted_at)]
    assert days == [7, 1, 9]

    drop(empty_kafka, "accesses", 0, 1)  # from then on an audit can't recount them any more
    done = forgotten(settings)
    assert done.deleted == Deleted({"proxy-log": 0, "accesses": 1, "sightings": 0, "evidence": 0}, unread=2)
    assert done.left == {}
