"""The index of hosts: searched, sorted and paged as a plain list is, and what went wrong with them, exactly."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.keys import host_key
from scentline.agents.frontier.rows import HostRow
from scentline.agents.window.index.hosts import LOOKED_SECONDS, ORDERS, HostIndex
from scentline.agents.window.index.index import Index
from scentline.models.frontier.causes import Cause
from scentline.models.frontier.waits import Waits
from scentline.streams.topics import partition_of
from scentline.streams.transport.journal import Journal
from tests.agents.shards import put
from tests.agents.test_record import an_outcome
from tests.window.test_page_index import a_crawl, tell

PARTITIONS = 3
CAUSES = ("HTTP 404", "timed out", "robots.txt forbids")


def store(journal: Journal, hosts: dict[str, HostRow]) -> None:
    """Write hosts' rows, as the frontier does."""
    journal.create_table("frontier", PARTITIONS)
    parts = journal.table("frontier")
    for name, row in hosts.items():
        put(parts[partition_of(name, PARTITIONS)], {host_key(name): msgspec.msgpack.encode(row)})


def read(index: Index) -> None:
    index.hosts.look()
    while index.step():
        pass


@contextmanager
def an_index() -> Iterator[tuple[Index, Journal]]:
    with tempfile.TemporaryDirectory() as directory, a_crawl(Path(directory)) as journal:
        index = Index(Path(directory), journal)
        yield index, journal
        index.close()


ROWS = st.builds(
    lambda judged, waits, causes: HostRow(
        judged,
        waits=Waits(waits, [1]) if waits is not None else Waits(),
        causes={name: Cause(count, float(count), b"page") for name, count in causes.items()},
    ),
    st.integers(0, 3),
    st.none() | st.sampled_from([0.5, 2.0]),
    st.dictionaries(st.sampled_from(CAUSES), st.integers(1, 3)),
)
NAMES = st.from_regex(r"[ab]{1,2}\.(x-){0,2}(test|org)", fullmatch=True)
HOSTS = st.dictionaries(NAMES, ROWS, max_size=25)
#: What may be searched for: parts of names, in any case, and whatever people type.
PARTS = (
    st.sampled_from(["", "a", "a.", ".te", "TEST", "b.x", "x-x", ".org", '"', "a\0b", "%", "b.test", "tést"])
    | st.text()
)


def figures(hosts: dict[str, HostRow], hits: dict[str, int]) -> dict[str, dict[str, object]]:
    """Return by what each host is sorted."""
    return {
        name: {
            "name": name,
            "pages": row.judged,
            "hits": hits.get(name, 0),
            "failures": sum(cause.count for cause in row.causes.values()),
            "seconds": -1.0 if row.waits.mean is None else row.waits.mean,
        }
        for name, row in hosts.items()
    }


def check(index: HostIndex, hosts: dict[str, HostRow], hits: dict[str, int], part: str, by: str) -> None:
    known = figures(hosts, hits)
    found = [name for name in known if part.lower() in name]
    assert index.count() == len(known)
    assert index.count(part) in (len(found), None)
    for descending in (False, True):
        expected = sorted(found, key=lambda name: (known[name][by], name), reverse=descending)
        pages: list[list[str]] = [index.names(part, by, descending=descending, most=4)]
        while pages[-1]:
            more = index.names(part, by, descending=descending, beyond=pages[-1][-1], most=4)
            if pages[-1] != pages[0]:
                back = index.names(part, by, descending=descending, beyond=pages[-1][0], back=True, most=4)
                assert back == pages[-2]
            pages.append(more)
        assert [name for page in pages for name in page] == expected


def check_causes(index: HostIndex, hosts: dict[str, HostRow]) -> None:
    found = {total.cause: total for total in index.causes()}
    expected = {name for row in hosts.values() for name in row.causes}
    assert found.keys() == expected
    for name, total in found.items():
        counts = {host: row.causes[name].count for host, row in hosts.items() if name in row.causes}
        times = {host: row.causes[name].time for host, row in hosts.items() if name in row.causes}
        assert (total.fetches, total.hosts) == (sum(counts.values()), len(counts))
        assert total.time == max(times.values()) == times[total.host]
        listed: list[str] = []
        while more := index.hosts_of(name, listed[-1] if listed else None, most=2):
            listed += more
        assert [counts[host] for host in listed] == sorted(counts.values(), reverse=True)
        assert {*listed} == counts.keys()


@given(HOSTS, HOSTS, PARTS, st.sampled_from(ORDERS), st.lists(st.tuples(NAMES, st.booleans()), max_size=10))
def test_hosts_are_found_sorted_and_paged_as_in_a_plain_list(
    first: dict[str, HostRow], later: dict[str, HostRow], part: str, by: str, judged: list[tuple[str, bool]]
) -> None:
    grown = {name: row for name, row in later.items() if name not in first or _grew(first[name], row)}
    with an_index() as (index, journal):
        for hosts in (first, first | grown):
            store(journal, hosts)
            read(index)
            check(index.hosts, hosts, {}, part, by)
            check_causes(index.hosts, hosts)
        hits: dict[str, int] = {}
        for number, (name, hit) in enumerate(judged):
            tell(journal, an_outcome(1, {"p": hit, "q": False}, url=f"http://{name}/{number}"))
            hits[name] = hits.get(name, 0) + hit
        read(index)
        assert {name: index.pages.hits_of(name) for name in hits} == {
            name: {"p": count} if count else {} for name, count in hits.items()
        }
        check(index.hosts, hosts, hits, part, by)


def _grew(before: HostRow, after: HostRow) -> bool:
    """Tell whether a host's row may follow on another: its counts only grow."""
    return all(
        name in after.causes and after.causes[name].count >= cause.count
        for name, cause in before.causes.items()
    )


def test_nothing_is_read_while_nobody_looks_or_nothing_changes(tmp_path: Path) -> None:
    now = 1000.0
    with a_crawl(tmp_path) as journal:
        store(journal, {f"h{number}.test": HostRow(number) for number in range(250)})
        index = Index(tmp_path, journal)
        hosts = HostIndex(index._store, journal, index.pages, lambda: now)
        assert not hosts.step()
        hosts.look()
        assert hosts.progress().as_of is None
        assert hosts.step()
        assert 0 < hosts.progress().read < 250
        while hosts.step():
            pass
        assert hosts.progress() == (250, 1000.0, 0)
        assert not hosts.step()
        store(journal, {"h7.test": HostRow(700)})
        now += LOOKED_SECONDS
        assert not hosts.step()
        hosts.look()
        while hosts.step():
            pass
        assert hosts.progress() == (250, now, 0)
        assert hosts.names(by="pages", descending=True, most=1) == ["h7.test"]
        index.close()


def test_an_index_with_hosts_that_the_crawl_does_not_have_is_made_anew(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as journal:
        store(journal, {"a.test": HostRow(1), "b.test": HostRow(2)})
        index = Index(tmp_path, journal)
        read(index)
        part = journal.table("frontier")[partition_of("b.test", PARTITIONS)]
        put(part, {host_key("b.test"): None})
        read(index)
        assert index.hosts.names() == []
        read(index)
        assert index.hosts.names() == ["a.test"]
        index.close()


@pytest.mark.parametrize("beyond", ["gone.test", "\0", "'; DROP TABLE hosts; --"])
def test_a_list_goes_on_behind_no_host_that_is_not_known(tmp_path: Path, beyond: str) -> None:
    with a_crawl(tmp_path) as journal:
        store(journal, {"a.test": HostRow(1)})
        index = Index(tmp_path, journal)
        read(index)
        assert index.hosts.names(by="pages", beyond=beyond) == []
        assert index.hosts.hosts_of(CAUSES[0], beyond) == []
        index.close()
