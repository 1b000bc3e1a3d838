"""Beyond a ledger's bounds the rarest features are forgotten; what changed is told in turns, at a pace."""

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from zstandard import ZstdError

from scentline.agents.frontier.agent import TELL_SECONDS, FrontierAgent, FrontierShard
from scentline.models.frontier.keys import totals_of
from scentline.models.frontier.ledger import FrontierLedger
from scentline.models.ledger import Change
from scentline.models.parts import BLOCK
from scentline.models.policy.features import BASE
from scentline.models.records import Interests
from scentline.streams.metrics.catalogue import PUBLISHED
from scentline.streams.settings import Settings
from scentline_lab.simulation.core import Memory
from tests.agents.cells import a_change, a_ledger, cells_of
from tests.agents.shards import a_runtime
from tests.agents.test_frontier_ledger import EVERYTHING, a_shard
from tests.reference.counts import plain

# bounds


def counting(rows: Memory, counted: int) -> tuple[FrontierLedger, FrontierShard, Callable[..., None]]:
    """Return a ledger that counts so many features, its shard, and what counts in a group of its own."""
    ledger, _ = a_ledger(2, counted)
    shard = a_shard(rows)
    ledger.open(shard)

    def count(*changes: Change) -> None:
        ledger.count(0, changes)
        rows.put(shard.close_group().rows)
        shard.landed()
        ledger.committed(0)

    return ledger, shard, count


def counts_in(rows: Memory) -> dict[str, dict[str, tuple[int, int]]]:
    """Return what rows hold, as whoever starts with them has it."""
    ledger, learns = a_ledger()
    ledger.open(a_shard(rows))
    return cells_of(plain(learns.ledger))


def test_beyond_the_limit_the_rarest_are_forgotten_first_and_reported_and_the_few_never_are() -> None:
    rows = Memory()
    ledger, shard, count = counting(rows, 25)
    few = {BASE, "l:p:0", "l:p:1", "r:p"}
    common = {f"w:common{number}" for number in range(15)}
    count(a_change(few, {"p": False}), a_change(common, {"p": False}, 5))
    assert totals_of(shard).forgotten == 0
    kinds = ("w:", "t:", "u:", "s:", "p:", "a:", "c:", "k:", "x:")
    for number in range(200):
        count(a_change([f"{kinds[number % len(kinds)]}rare{number}"], {"p": True}))
        assert ledger.features <= 25
    known = set(counts_in(rows))
    assert few | common <= known
    assert totals_of(shard).forgotten == 200 + len(few | common) - len(known)
    again, _, _ = counting(rows, 25)
    assert again.features == ledger.features == len(known)


def test_of_what_others_count_the_rarest_are_forgotten_until_they_are_told_again() -> None:
    other, _ = a_ledger(2)
    other.begin(1)
    ledger, learns = a_ledger(2, known=20)
    ledger.begin(0)
    own = {BASE, *(f"w:own{number}" for number in range(10))}
    ledger.count(0, [a_change(own, {"p": True})])
    often, rare = ({f"w:{name}{number}" for number in range(9)} for name in ("often", "rare"))
    of_often, of_rare = a_change(often, {"p": True}, 2), a_change(rare, {"p": True})
    for changes, known in (([of_often, of_rare], often), ([of_rare] * 3, rare)):
        other.count(1, changes)
        for block in other.tell(EVERYTHING)[0]:
            ledger.hear(Interests(block=block))
        found = {name for name, *_ in learns.ledger.items()}
        assert len(learns.ledger) <= 20 and found >= own
        assert len(found & known) >= 7


# telling


def test_one_that_has_all_partitions_tells_nothing_and_what_can_not_be_a_block_is_refused() -> None:
    ledger, _ = a_ledger(2)
    for partition in (0, 1):
        ledger.begin(partition)
    ledger.count(1, [a_change([BASE, "w:a"], {"p": True})])
    assert ledger.tell(EVERYTHING) == ([], 0)
    ledger.close(0)
    *_, last = ledger.tell(EVERYTHING)[0]
    assert last.names == ("w:a",)
    for wrong in ({"names": ("w:a", "w:b")}, {"size": 1}, {"counts": b"rubbish"}, {"predicates": ("p", "q")}):
        with pytest.raises((ValueError, ZstdError)):
            a_ledger(2)[0].hear(Interests(block=replace(last, **wrong)))


def test_words_of_an_earlier_owner_that_come_late_are_told_over_and_what_it_had_more_is_forgotten() -> None:
    (earlier, _), (owner, _), (other, learns) = (a_ledger(2) for _ in range(3))
    earlier.begin(0)
    earlier.count(0, [a_change([BASE, "w:a", "w:lost"], {"p": True})])
    late = earlier.tell(EVERYTHING)[0]
    owner.begin(0)
    owner.count(0, [a_change([BASE, "w:a"], {"p": True})])
    topic = [*owner.tell(EVERYTHING)[0], *late]
    for block in topic:
        owner.hear(Interests(block=block))
    again = owner.tell(EVERYTHING)[0]
    assert len(again) == 2
    for block in [*topic, *again]:
        other.hear(Interests(block=block))
    assert cells_of(plain(learns.ledger)) == {BASE: {"p": (1, 1)}, "w:a": {"p": (1, 1)}}
    for block in again:
        owner.hear(Interests(block=block))
    assert owner.tell(EVERYTHING)[0] == [], "these are its own"


@pytest.mark.parametrize("most", [1, 3 * BLOCK])
def test_how_many_were_judged_is_told_first_and_no_block_later_than_all_can_be_told_once(most: int) -> None:
    random, ledger = Random(most), a_ledger(3, EVERYTHING)[0]
    names = [f"w:{number}" for number in range(8 * BLOCK)]
    for partition in (0, 1):
        ledger.begin(partition)
        ledger.count(partition, [a_change([BASE, *names], {"p": True})])
    late = dict.fromkeys(itertools.product((0, 1), range(1, 9)), 0)
    for _ in range(60):
        partition = random.randrange(2)
        ledger.count(partition, [a_change([BASE, *random.sample(names, 20)], {"p": True})])
        blocks, columns = ledger.tell(most + 2)
        places = [(block.partition, block.number) for block in blocks]
        bases = [place for place in places if not place[1]]
        assert bases == places[: len(bases)] and (partition, 0) in bases
        assert columns <= most + 2 + BLOCK
        late = {place: 0 if place in places else late[place] + 1 for place in late}
        assert max(late.values()) <= len(late)


def test_it_is_told_at_the_pace_of_the_settings_as_far_as_partitions_are_ones_own(tmp_path: Path) -> None:
    given = {"data": tmp_path, "streams": {"partitions": 4}, "learn": {"told": 4 * BLOCK}}
    names = [f"w:{number}" for number in range(20 * BLOCK)]
    with a_runtime(Settings.model_validate(given)) as runtime:
        agent = FrontierAgent(runtime)
        agent.core.ledger.begin(0)
        for _ in range(80):
            agent.core.ledger.count(0, [a_change([BASE, *names], {"p": True})])
            asyncio.run(agent.tell_counts())
        columns = runtime.metrics.registry.get_sample_value(PUBLISHED.name)
    assert columns == pytest.approx(80 * TELL_SECONDS * BLOCK, rel=0.1)
