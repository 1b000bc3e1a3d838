"""The index of hosts: searched, sorted and paged as a plain list is, and what went wrong with them, exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.keys import host_key
from scentline.agents.frontier.rows import HostRow
from scentline.agents.window.index import pages
from scentline.agents.window.index.hosts import LOOKED_SECONDS, ORDERS, SCHEMA, HostIndex
from scentline.agents.window.index.store import Store
from scentline.models.frontier.causes import Cause
from scentline.models.frontier.waits import Waits
from scentline.streams.topics import partition_of
from tests.agents.shards import put
from tests.window.crawls import PARTITIONS, an_index, an_outcome, read, tell, write_hosts

CAUSES = ("HTTP 404", "timed out", "robots.txt forbids")
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


def check(index: HostIndex, hosts: dict[str, HostRow], hits: dict[str, int], part: str, by: str) -> None:
    figures: dict[str, object] = {
        name: {
            "name": name,
            "pages": row.judged,
            "hits": hits.get(name, 0),
            "failures": sum(cause.count for cause in row.causes.values()),
            "seconds": -1.0 if row.waits.mean is None else row.waits.mean,
        }[by]
        for name, row in hosts.items()
    }
    found = [name for name in hosts if part.lower() in name]
    assert index.count() == len(hosts)
    assert index.count(part) in (len(found), None)
    for descending in (False, True):
        expected = sorted(found, key=lambda name: (figures[name], name), reverse=descending)
        listed: list[list[str]] = [index.names(part, by, descending=descending, most=4)]
        while listed[-1]:
            more = index.names(part, by, descending=descending, beyond=listed[-1][-1], most=4)
            if listed[-1] != listed[0]:
                back = index.names(part, by, descending=descending, beyond=listed[-1][0], back=True, most=4)
                assert back == listed[-2]
            listed.append(more)
        assert [name for page in listed for name in page] == expected


def check_causes(index: HostIndex, hosts: dict[str, HostRow]) -> None:
    found = {total.cause: total for total in index.causes()}
    assert found.keys() == {name for row in hosts.values() for name in row.causes}
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
    with an_index() as (journal, index):
        for hosts in (first, first | grown):
            write_hosts(journal, hosts)
            read(index)
            check(index.hosts, hosts, {}, part, by)
            check_causes(index.hosts, hosts)
        hits: dict[str, int] = {}
        for number, (name, hit) in enumerate(judged):
            tell(journal, an_outcome(1, {"p": hit, "q": False}, f"http://{name}/{number}"))
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


def test_nothing_is_read_without_a_viewer_or_while_nothing_changes() -> None:
    now = 1000.0
    with an_index(hosts={f"h{number}.test": HostRow(number) for number in range(250)}) as (journal, index):
        hosts = HostIndex(Store(pages.SCHEMA + SCHEMA), journal, index.pages, lambda: now)
        assert not hosts.step()
        hosts.look()
        assert hosts.progress().as_of is None
        assert hosts.step()
        assert 0 < hosts.progress().read < 250
        while hosts.step():
            pass
        assert hosts.progress() == (250, 1000.0, 0)
        assert not hosts.step()
        write_hosts(journal, {"h7.test": HostRow(700)})
        now += LOOKED_SECONDS
        assert not hosts.step()
        hosts.look()
        while hosts.step():
            pass
        assert hosts.progress() == (250, now, 0)
        assert hosts.names(by="pages", descending=True, most=1) == ["h7.test"]


def test_an_index_with_hosts_that_the_crawl_does_not_have_is_made_anew() -> None:
    with an_index(hosts={"a.test": HostRow(1), "b.test": HostRow(2)}) as (journal, index):
        put(journal.table("frontier")[partition_of("b.test", PARTITIONS)], {host_key("b.test"): None})
        read(index)
        read(index)
        assert index.hosts.names() == ["a.test"]


@pytest.mark.parametrize("beyond", ["gone.test", "\0", "'; DROP TABLE hosts; --"])
def test_a_list_goes_on_behind_no_host_that_is_not_known(beyond: str) -> None:
    with an_index(hosts={"a.test": HostRow(1)}) as (_, index):
        assert index.hosts.names(by="pages", beyond=beyond) == []
        assert index.hosts.hosts_of(CAUSES[0], beyond) == []
