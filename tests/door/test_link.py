"""What the clients share, at a door in this process: TLS, the token, answers, and what is given back."""

import asyncio
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clients.scentline_client import link
from clients.scentline_client.link import Door, DoorError, Link, Order
from scentline.agents.door.agent import DoorAgent
from scentline.agents.door.server import serving_door
from scentline.models.facts import Early, Fetched
from scentline.models.records import RobotsTxt
from scentline.streams.settings import Settings
from tests.agents.judging import an_order
from tests.agents.loopback import awaited
from tests.agents.shards import a_runtime, journal_of
from tests.agents.test_fetch_agent import NOW, facts_in
from tests.patience import PATIENCE

ANSWERED, HELD, ROBOTS = "http://a.test/1", "http://b.test/1", "http://%d.test/robots.txt"


class Leaving(Link):
    """Notes its calls, and has its client leave while the fourth is on its way."""

    client: Door

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token)
        self.names: list[str] = []
        self.left: asyncio.Future[asyncio.Task[None]] = asyncio.get_running_loop().create_future()

    async def call(self, name: str, *given: Any, **more: Any) -> dict[str, Any]:
        self.names.append(name)
        if len(self.names) == 4:
            self.left.set_result(asyncio.create_task(self.client.close()))
            await asyncio.sleep(0)
        return await super().call(name, *given, **more)


@awaited
async def test_a_client_whose_slots_are_taken_leases_by_its_answers_and_gives_back_what_comes_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "BEAT", PATIENCE)  # else a busy machine has more leases
    settings = Settings.model_validate({"data": tmp_path, "door": {"address": "127.0.0.1:0"}})
    arrived: list[str] = []
    with a_runtime(settings, NOW) as runtime:
        agent = DoorAgent(runtime)
        for number in range(5):
            agent.leases.park(an_order(f"http://{number}.test/"), lambda: None, NOW, early=False)
        async with serving_door(settings, agent, dict) as url:

            def answer(order: Order) -> None:
                arrived.append(order["url"])
                door.settle((order["url"], order["order"]), status=404)

            leaving = Leaving(url, str(tmp_path / "door/token"))
            leaving.client = door = Door(leaving, 1, answer, lambda: False)
            door.start()
            await (await asyncio.wait_for(leaving.left, PATIENCE))
        early = {fact.url: isinstance(fact.result, Early) for fact in facts_in(journal_of(runtime))}
    assert leaving.names == ["lease", "settle", "settle", "settle", "settle", "state"]
    assert arrived == [f"http://{number}.test/" for number in range(3)]
    assert early == {f"http://{number}.test/": number == 3 for number in range(4)}


@awaited
async def test_orders_are_answered_or_given_back_by_whom_the_door_knows(
    tmp_path: Path, tls: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "BEAT", 0.05)
    monkeypatch.setattr(link, "ROBOTS", 2_500)
    monkeypatch.setattr(link, "MOST_ROBOTS", 32_000)
    authority, pair = str(tls["clients"]), str(tls["key"])
    settings = Settings.model_validate({"data": tmp_path, "door": {"address": "127.0.0.1:0", **tls}})
    acknowledged: list[str] = []
    arrived: asyncio.Queue[Order] = asyncio.Queue()
    with a_runtime(settings, NOW) as runtime:
        agent = DoorAgent(runtime)
        async with serving_door(settings, agent, dict) as url:
            token = str(tmp_path / "door/token")
            with pytest.raises(DoorError, match="away"):
                await Link(url, token, authority).call("state", patience=0.0)
            with pytest.raises(DoorError, match="certificate"):
                await Link(url, token, certificate=pair).call("state")
            with pytest.raises(DoorError, match="has no token"):
                await Link(url, pair, authority, pair).call("state", patience=0.0)
            (wrong := tmp_path / "wrong").write_text("another")
            stranger = Door(Link(url, str(wrong), authority, pair), 1, arrived.put_nowait, lambda: True)
            for number in range(2 * link.URLS + 1):
                stranger.discover(url=f"http://c.test/{number}")
            stranger.start()
            await asyncio.wait_for(stranger.room(), PATIENCE)
            assert stranger.over
            assert "refuses the token in" in stranger.lost
            for page in (ANSWERED, HELD):
                agent.leases.park(an_order(page), partial(acknowledged.append, page), NOW, early=False)
            door = Door(Link(url, token, authority, pair), 2, arrived.put_nowait, lambda: False)
            for number in range(60):  # of which two fit in a call, and thirty wait
                door.saw_robots(ROBOTS % number, 200, "#" * 1_000)
            door.start()
            orders = [await asyncio.wait_for(arrived.get(), PATIENCE) for _ in range(2)]
            assert {order["url"] for order in orders} == {ANSWERED, HELD}
            agent.leases.parked[HELD].until = 0.0
            async with asyncio.timeout(PATIENCE):
                while not agent.leases.parked[HELD].until:  # a heartbeat extends it
                    await asyncio.sleep(0.01)
            for _ in range(2):  # is told once
                door.settle((ANSWERED, "f2"), ended=time.monotonic(), status=404)
            await door.close()
        facts = facts_in(journal_of(runtime))
    early = {fact.url: isinstance(fact.result, Early) for fact in facts if isinstance(fact, Fetched)}
    # The oldest are dropped beyond what may wait.
    assert [fact.url for fact in facts if isinstance(fact, RobotsTxt)] == [
        ROBOTS % number for number in range(30, 60)
    ]
    assert sorted(acknowledged) == [ANSWERED, HELD]
    assert early == {ANSWERED: False, HELD: True}
    assert (door.counts, door.held, door.lost) == ({"leased": 2, "ok": 2}, {}, "")
