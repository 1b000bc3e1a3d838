"""Leases against what clients may rely on: whoever calls when, whatever dies, and however late a call comes."""

import math
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from scentline.agents.door.leases import GRACE_SECONDS, IDLE_SECONDS, LEAST_SECONDS, Leases, Parked, name_of
from scentline.models.records import FetchOrder
from scentline.models.url import host
from tests.agents.judging import an_order

#: Two of them on one host, whose robots.txt asks for a delay.
URLS = ("http://a.org/1", "http://a.org/2", "http://b.org/1")
CRAWL_DELAYS = {"a.org": 12.0}
Key = tuple[str, str]
clients = st.sampled_from(["ann", "bob"])
requests = st.sampled_from(["1", "2"])
seconds = st.sampled_from([1.0, 5.0, 60.0])


@dataclass
class Order:
    """An order as the frontier and its messages know it, and what clients were told of it."""

    order: FetchOrder
    early: bool = False
    #: How often each of its messages was acknowledged.
    messages: list[int] = field(default_factory=list)
    #: What its client hears of a further answer, empty until it ended.
    ended: str = ""
    client: str = ""
    until: float = 0.0
    begun: float = -math.inf  #: When the client got it.

    @property
    def key(self) -> Key:
        return self.order.url, name_of(self.order)

    @property
    def site(self) -> str:
        return host(self.order.url)

    def runs(self, now: float) -> bool:
        return self.until > now


class Doors(RuleBasedStateMachine):
    """One door after the other, and two clients."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.number = 1000.0, 0
        self.stale: set[Key] = set()  #: Orders whose answers the frontier has.
        self.orders: dict[Key, Order] = {}
        self.answered: dict[tuple[str, str], list[Key]] = {}
        self.open()

    def open(self) -> None:
        self.leases = Leases(lambda order: not self.over(order), self.crawl_delay)
        #: By host, when a client may have sent a request to it last, as far as this door was told.
        self.asked: dict[str, float] = {}
        self.begun = self.now

    def over(self, order: FetchOrder) -> bool:
        return (order.url, name_of(order)) in self.stale

    def crawl_delay(self, url: str) -> float:
        return CRAWL_DELAYS.get(host(url), 0.0)

    def park(self, order: Order) -> None:
        place = len(order.messages)
        order.messages.append(0)

        def acknowledge() -> None:
            order.messages[place] += 1

        self.leases.park(order.order, acknowledge, self.now, early=order.early)

    def end(self, parked: Parked, how: str) -> Order:
        order = self.orders[parked.order.url, name_of(parked.order)]
        assert not order.ended, "it ends once"
        order.ended = how
        parked.acknowledge()
        return order

    def open_orders(self) -> list[Order]:
        return [order for order in self.orders.values() if not order.ended]

    def note_asked(self, site: str, at: float) -> None:
        self.asked[site] = max(at, self.asked.get(site, -math.inf))

    # the frontier

    @rule(url=st.sampled_from(URLS), delay=st.sampled_from([0.0, 3.0]), lasts=st.sampled_from([20.0, 120.0]))
    def orders_a_page(self, url: str, delay: float, lasts: float) -> None:
        """A new order for a URL ends the one before it, whose lease has run out for the frontier."""
        for before in self.open_orders():
            if before.order.url == url:
                before.ended = "late"
                self.note_asked(before.site, before.until)
        self.number += 1
        order = an_order(url, order=self.number, delay=delay, lease=self.now + lasts)
        new = Order(order)
        self.orders[new.key] = new
        self.park(new)

    @precondition(lambda self: self.open_orders())
    @rule(data=st.data())
    def order_comes_twice(self, data: st.DataObject) -> None:
        """As when partitions change hands, and come back."""
        self.park(data.draw(st.sampled_from(self.open_orders())))

    @precondition(lambda self: self.open_orders())
    @rule(data=st.data())
    def hears_the_answer_of(self, data: st.DataObject) -> None:
        """Before the door died, which only did not acknowledge it."""
        self.stale.add(data.draw(st.sampled_from(self.open_orders())).key)

    # time

    @rule(passed=st.sampled_from([0.5, 1.0, 4.0, 11.0, 31.0]))
    def time_passes(self, passed: float) -> None:
        self.now += passed

    @rule()
    def looks_for_overdue(self) -> None:
        for parked in self.leases.overdue(self.now):
            order = self.end(parked, "late")
            assert not order.runs(self.now), "it is taken from the client that holds it"

    @rule()
    def dies(self) -> None:
        """What was not acknowledged comes again to the next door, which knows nothing else."""
        self.orders = {order.key: order for order in self.open_orders()}
        self.answered.clear()
        self.open()
        for order in self.orders.values():
            order.messages, order.early, order.until = [], True, 0.0
            self.park(order)

    # the clients

    @rule(client=clients, request=requests, want=st.integers(1, 4), lasts=seconds)
    def leases_some(self, client: str, request: str, want: int, lasts: float) -> None:
        before = [self.orders[key] for key in self.answered.get((client, request), [])]
        known = [each for each in before if not each.ended and each.client == client and each.runs(self.now)]
        taken = self.leases.lease(client, request, want, lasts, self.now)
        found = [self.orders[each.order.url, name_of(each.order)] for each in taken]
        assert not known or found == known, "the same request gets the same"
        assert known or len(found) <= want
        for order, parked in zip(found, taken, strict=True):
            assert not order.ended
            assert self.now < parked.until <= order.order.lease
            if not known:
                self.leased(order)
            order.client, order.until = client, parked.until
        if found:
            self.answered[client, request] = [order.key for order in found]
        for order in self.open_orders():
            if order.key in self.stale and order.order.url not in self.leases.parked:
                order.ended = "again"
        assert known or len(found) == want or not any(map(self.can_be_given, self.open_orders()))
        assert self.leases.next_free(self.now) > self.now, "nobody waits for what is there"

    @rule(lasts=seconds, passed=st.sampled_from([0.0, 1.0, 4.0]))
    def client_leaves(self, lasts: float, passed: float) -> None:
        """Its leases end, and another client asks soon after."""
        self.leases_some("ann", "1", 4, lasts)
        self.now += lasts + passed
        self.leases_some("bob", "2", 4, lasts)

    def can_be_given(self, order: Order) -> bool:
        wanted = order.order.lease - LEAST_SECONDS > self.now and order.key not in self.stale
        return wanted and not order.runs(self.now) and self.now >= self.free_at(order)

    def leased(self, order: Order) -> None:
        """Check that an order may be given to a client anew."""
        assert not order.runs(self.now), "a client holds it"
        assert order.key not in self.stale
        assert self.now >= self.free_at(order), "its host is left alone for its delay"
        order.begun, order.early = self.now, False
        self.note_asked(order.site, self.now)

    def free_at(self, order: Order) -> float:
        """Return when an order may be given; whose lease ran out may have sent a request until then."""
        ends = (each.until for each in self.orders.values() if each.site == order.site)
        asked = max([self.asked.get(order.site, -math.inf), *(at for at in ends if at <= self.now)])
        delay = max(order.order.delay, self.crawl_delay(order.order.url))
        return max(asked + delay, self.begun + max(delay, GRACE_SECONDS) if order.early else -math.inf)

    @precondition(lambda self: self.orders)
    @rule(client=clients, data=st.data(), lasts=seconds)
    def names_what_it_holds(self, client: str, data: st.DataObject, lasts: float) -> None:
        named = data.draw(st.lists(st.sampled_from(sorted(self.orders)), max_size=3, unique=True))
        held = {key: order.client for key, order in self.orders.items() if order.runs(self.now)}
        self.leases.hold(client, named, lasts, self.now)
        for key in named:
            order, parked = self.orders[key], self.leases.parked.get(key[0])
            if order.ended or parked is None:
                continue
            assert held.get(key) in (None, parked.client), "its client keeps it"
            if parked.client == client:
                assert parked.until >= min(self.now + lasts, order.order.lease)
                order.client, order.until = client, parked.until
                if order.early:
                    order.early = False
                    self.note_asked(order.site, self.now)
            else:
                assert client not in (held.get(key), order.client * order.runs(self.now))

    @precondition(lambda self: self.orders)
    @rule(data=st.data(), ago=st.sampled_from([0.0, 2.0, 100.0]))
    def answers(self, data: st.DataObject, ago: float) -> None:
        self.answer(data.draw(st.sampled_from(sorted(self.orders))), ago)

    def answer(self, key: Key, ago: float) -> None:
        order = self.orders[key]
        elapsed = min(ago, max(0.0, self.now - order.begun)) if math.isfinite(order.begun) else ago
        said = self.leases.take(*key, elapsed, self.now)
        assert said == order.ended if order.ended else isinstance(said, Parked)
        if isinstance(said, Parked):
            self.end(said, "again")
            order.until = 0.0
            self.note_asked(order.site, self.now - elapsed)

    @precondition(lambda self: self.orders)
    @rule(client=clients, request=requests, want=st.integers(1, 4), data=st.data())
    def settles_and_leases_twice(self, client: str, request: str, want: int, data: st.DataObject) -> None:
        """As by one call that is repeated: what it settled is settled, and its orders are the same."""
        settled = data.draw(st.lists(st.sampled_from(sorted(self.orders)), max_size=2, unique=True))
        for _ in range(2):
            before = self.answered.get((client, request))
            for key in settled:
                self.answer(key, 0.0)
            self.leases_some(client, request, want, 5.0)
        assert self.answered.get((client, request)) == before

    def teardown(self) -> None:
        """What nobody takes comes back, and what a client takes and never answers, too."""
        self.now = max([self.now, *(order.order.lease for order in self.orders.values())]) + IDLE_SECONDS
        self.looks_for_overdue()
        assert not self.leases.parked
        assert all(order.messages == [1] * len(order.messages) for order in self.orders.values())


TestLeases = Doors.TestCase
#: Some of what goes wrong takes a dozen steps in one order.
TestLeases.settings = settings(max_examples=100, stateful_step_count=40)
