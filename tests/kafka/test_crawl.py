"""A crawl on Kafka counts what one on the embedded log counts, and goes on exactly whatever befalls it."""

import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from bench.faults.cluster import Cluster
from bench.faults.crawl import wikispeedia
from bench.faults.faults import FAULTS
from bench.faults.suite import run as run_faults
from deploy.kafka.jars import MissingProgramError
from scentline.agents.cli import load_commands
from scentline.streams.settings import Settings
from scentline.streams.topics import INBOXES, OUTCOMES, declared, group_of
from scentline.streams.transport.kafka.admin import Admin
from scentline_lab.synthetic.web import SyntheticWeb, synthetic_server
from tests.agents.commands import last_line, printed, running, scentline
from tests.agents.test_cli_examples import STOPPED
from tests.e2e.crawls import each, options, topics, write_labels, write_log
from tests.patience import PATIENCE, wait_for
from tests.rubbish.measured import run
from tests.shared import shared
from tests.webs.watched import check, crawled
from tests.window.windows import entered

WEB = (5, 3, 30, 3)  # seed, sites, pages a site, topics
PARTITIONS = 2


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


def arguments(directory: Path, proxy: str) -> list[str]:
    """Return the options of a crawl of the whole web, with its log, that two predicates ask for."""
    web = SyntheticWeb(*WEB)
    write_log(directory / "access.log", web, users=10, accesses=150)
    write_labels(directory / "labels.tsv", web)
    predicates = (f'{topic}=category("{topic}")' for topic in topics(web)[:2])
    settings = {
        "fetch.proxy": proxy, "fetch.delay_seconds": 0, "streams.partitions": PARTITIONS,
        "observe.user_key": "the same on both",
        "frontier.evidence_share": 1,  # which pages do not teach goes by the order in which they come
    }  # fmt: skip
    asked = [*each("--seed", web.seeds(2)), *each("--predicate", predicates)]
    return ["--log", "access.log", "--labels", "labels.tsv", "--json", *asked, *options(settings)]


def counts(directory: Path, *command: str, first: str = "", seconds: float = 120) -> dict[str, object]:
    """Run a crawl to its end, after ``first``; return what it counted."""
    ended = run(directory, "crawl", *command, first=first, seconds=seconds)
    assert ended.status == 0, ended.err
    found = last_line(ended.out)
    return {name: found[name] for name in ("fetched", "failed", "refused", "candidates")} | {
        name: (predicate["hits"], predicate["judged"]) for name, predicate in found["predicates"].items()
    }


def audited(directory: Path, data: str) -> str:
    return printed(directory, "audit", "--data", data, "--json")


def create(directory: Path, broker: str, *more: str) -> None:
    printed(directory, "topics", "create", "--partitions", str(PARTITIONS), "--broker", broker, *more)


class Alone(NamedTuple):
    """A crawl on the embedded log: where its files are, its options, its counts, and what its audit says."""

    directory: Path
    options: list[str]
    counts: dict[str, object]
    audit: str


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, proxy: str) -> Alone:
    directory = tmp_path_factory.mktemp("alone")
    given = arguments(directory, proxy)
    found = counts(directory, *given, "--data", "embedded")
    return Alone(directory, given, found, audited(directory, "embedded"))


def test_a_crawl_of_a_web_counts_the_same_on_both_logs(alone: Alone, tmp_path: Path, empty_kafka: str) -> None:
    create(tmp_path, empty_kafka)
    with entered(tmp_path / "window", "--broker", empty_kafka) as window:  # from before the crawl to its end
        kafka = counts(alone.directory, *alone.options, "--data", "kafka", "--broker", empty_kafka)
        assert kafka == alone.counts
        assert kafka["candidates"] == 0
        mirrored = ("audit", "--data", "window/mirror", "--json")
        wait_for("the mirror's end", lambda: scentline(tmp_path, *mirrored).stdout == alone.audit, pause=2.0)
        shown = window.get("/api/crawl").json()
        assert [predicate["state"] for predicate in shown["predicates"]] == ["active", "active"]
    snapshot = ("snapshot", "--broker", empty_kafka, "--data")
    printed(tmp_path, *snapshot, "snapshot")
    assert audited(tmp_path, "snapshot") == alone.audit
    refused = scentline(tmp_path, *snapshot, "other", "--set", "frontier.policy=linkage")
    assert refused.returncode == 2
    assert "the crawl has the policy learned, the settings have linkage" in refused.stderr.splitlines()[-1]
    assert not (tmp_path / "other").exists()


def test_a_crawl_goes_on_from_a_snapshot_of_the_one_that_runs_and_another_of_that_kafka_hears_nothing(
    alone: Alone, tmp_path: Path, empty_kafka: str
) -> None:
    prefixed = ("--set", "kafka.prefix=two-")
    labels = ["--labels", str(alone.directory / "labels.tsv")]
    # Without the log: what was fed after the cut would have to be fed again.
    given = [*labels, *alone.options[4:], *prefixed]
    slow = [*given, *options({"fetch.delay_seconds": 0.5, "frontier.lease_seconds": 10})]
    create(tmp_path, empty_kafka)
    create(tmp_path, empty_kafka, *prefixed)
    broker, other = (
        Settings.model_validate({"broker": empty_kafka, "kafka": {"prefix": prefix}}) for prefix in ("two-", "")
    )
    places = [(OUTCOMES.name, number) for number in range(PARTITIONS)]
    with running(tmp_path, "crawl", *slow, "--data", "kafka", "--broker", empty_kafka) as crawl:
        with Admin(broker) as admin:
            wait_for("pages", lambda: sum(admin.ends(places).values()) >= 10)
        printed(tmp_path, "snapshot", "--broker", empty_kafka, "--data", "today", *prefixed)
        assert crawl.poll() is None
        crawl.kill()
    everywhere = [(topic.name, number) for topic in declared(PARTITIONS) for number in range(topic.partitions)]
    with Admin(other) as admin:
        assert not any(admin.ends(everywhere).values())
        assert admin.members(map(group_of, INBOXES)) == {}
    said = scentline(tmp_path, "audit", "--data", "today").stderr
    assert said == "" or re.match(r"nothing was compared: \d+ messages are not absorbed yet", said), said
    ended = last_line(printed(tmp_path, "crawl", *slow, "--data", "today"))
    whole = last_line(printed(tmp_path, "crawl", *given, "--data", "embedded"))
    assert (ended["fetched"], ended["candidates"]) == (whole["fetched"], 0)
    found = last_line(audited(tmp_path, "today"))
    figures = [found[name] for name in ("judged", "judged_twice", "lost", "differences")]
    assert figures == [whole["fetched"], 0, 0, 0]


def test_no_host_is_asked_before_its_time_by_a_crawl_that_is_killed(tmp_path: Path, empty_kafka: str) -> None:
    create(tmp_path, empty_kafka)
    given = {"kafka.session_seconds": 3, "kafka.heartbeat_seconds": 0.5, "observe.user_key": "k"}
    check(crawled(tmp_path, ["--data", "data", "--broker", empty_kafka, *options(given)], Random(2)))


# faults

LAYOUT = {"one": ("all",), "two": ("all",)}
#: What is fetched while faults are waited for says no more of them, and takes as long to recount.
PACED = {"fetch.delay_seconds": 1}
#: One of each kind that a worker meets; `make faults` has them all.
SHORT = ("kill frontier", "freeze learn", "join and leave")


def test_nothing_is_lost_and_nothing_counted_twice_by_faults(tmp_path: Path) -> None:
    """Two workers that play every role, on real pages with a real log."""
    crawl = wikispeedia(shared("wikispeedia/pages.warc.gz").parent, tmp_path / "access.log", 1000)
    try:
        with Cluster(tmp_path, crawl, LAYOUT, partitions=2, more=PACED) as cluster:
            results = list(
                run_faults(cluster, ((name, FAULTS[name]) for name in SHORT), Random(7), lambda _: None)
            )
    except MissingProgramError as error:
        pytest.skip(str(error))
    assert [result.fault for result in results] == list(SHORT)
    assert [result.checked.examples for result in results] == [()] * len(SHORT)
    assert all(result.checked.exact for result in results)
    assert results[-1].checked.lines == 1000


# what the help shows


def shown() -> list[str]:
    """Return the examples that name a broker, end by themselves and ask no worker: first what makes topics."""
    lines = [line for examples in load_commands().values() for line in examples if "kafka://" in line]
    ending = [line for line in lines if line not in STOPPED and "worker" not in line]
    return sorted(ending, key=lambda line: "topics create" not in line)


@pytest.mark.slow
def test_the_examples_that_name_a_broker_work(empty_kafka: str, tmp_path: Path) -> None:
    def words(line: str) -> list[str]:
        return shlex.split(line.replace("kafka://localhost:9092", empty_kafka))[1:]

    lines = shown()
    assert lines[0].startswith("scentline topics create ")
    for line in lines:
        printed(tmp_path, *words(line))
    (following,) = (line for line in load_commands()["snapshot"] if line in STOPPED)
    with running(tmp_path, *words(following)) as process:
        assert process.stdout is not None
        assert "records copied to mirror; following" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
