"""An example of every row of every table; each field has a value of its own, which is not its default."""

from typing import Any

from scentline.agents.browse.agent import UserRow
from scentline.agents.frontier.rows import (
    BesideRow,
    ChildrenRow,
    Choice,
    ClicksRow,
    DepthRow,
    DueRow,
    Found,
    FrontierRow,
    GroupRow,
    HostRow,
    HubRow,
    LeasedRow,
    NewsRow,
    OwnerRow,
    PageRow,
    ParentRow,
    RobotsRow,
    SpaceRow,
    StartRow,
    TotalsRow,
    VisitRow,
    WaysRow,
)
from scentline.agents.harvest.agent import HarvestRow, HarvestTableRow, SeenRow
from scentline.agents.judge.duplicates import BandRow, DuplicateRow, SketchRow
from scentline.agents.judge.duplicates import SpaceRow as TextsRow
from scentline.agents.judge.rows import LaterRow
from scentline.agents.learn.rows import CountsRow, LearnRow, LearnTotals, ModelRow, PriorRow
from scentline.models.crowd.trace import Visit
from scentline.models.depth.growth import Growth, Place
from scentline.models.depth.trail import Browsing, Trail
from scentline.models.frontier.causes import Cause
from scentline.models.frontier.politeness import HostState
from scentline.models.frontier.promises import Promised
from scentline.models.frontier.waits import Waits
from scentline.models.news.clicks import History
from scentline.models.news.revisits import ArrivalRate
from scentline.models.patterns.counts import Ways
from scentline.models.revisit.rate import Group
from scentline.models.revisit.rate import History as Visited
from scentline.models.revisit.signals import Trust
from scentline.models.revisit.sizes import Sizes
from scentline.models.traps import Barren
from scentline.streams.inbox import Mark
from scentline.streams.topics import PREDICATES
from scentline.streams.transport.partition import TopicMeta
from tests.streams.wire.records import CHILD, PAGE, RECORDS, ROBOTS, STATE, URL, VERDICT, VERSION_HAD

#: What each table's rows are read as.
ROW_TYPES: dict[str, Any] = {
    "users": UserRow,
    "duplicates": DuplicateRow,
    "frontier": FrontierRow,
    "interests": LearnRow,
    "harvest": HarvestTableRow,
}

CHOICE = Choice(
    predicate="news", policy="learned", explored=True, probability=0.125, priority=-1.5,
    time=1_700_000_000.5, expected=0.75, comes=0.875, parts={"news": 0.75},
)  # fmt: skip

GROUP = Group(
    still=3, still_time=7_200_000, found={20: [1, 1_800_000]}, told=1, told_time=60_000, signals=3, wrong=2,
    wrong_time=120_000,
)  # fmt: skip
TRUST = Trust(signals=3, wrong=1, time=7_200_000, told={1: [1, 60_000]}, hidden=1500)

BROWSING = Browsing(
    referred=True,
    trails={
        "a.test": Trail(
            last=1_700_000_000.5, shown=1_700_000_000.25, at=1, seen=3, numbers={PAGE: 0, CHILD: 1},
            levels=[0, 1], views=[1, 2], links=[1],
        )
    },
)  # fmt: skip

#: The examples of each table.
ROWS: dict[str, tuple[Any, ...]] = {
    "users": (UserRow(window=[Visit(time=1_700_000_000.5, url=URL)], accesses=12, browsing=BROWSING),),
    "duplicates": (
        SketchRow(url=URL, sketch=b"sketch", vouched=0.25),
        BandRow(pages=[PAGE, CHILD]),
        TextsRow(texts=[b"a text's hash"]),
        LaterRow(definition=RECORDS[PREDICATES.name][0], end=9, at=4),
    ),
    "frontier": (
        PageRow(
            url=URL, depth=4, discovered=17, state="leased", seed=True, parents=[PAGE],
            links={"news": [9, 5]}, visits=6, visitors=["0123456789abcdef"], priorities={"news": -1.5},
            inherited={"news": -2.5}, attempts=2, not_before=1_700_000_030.0, lease=1_700_000_120.0,
            choice=CHOICE, verdict=VERDICT, reason="status 503", together={CHILD: [3, 2, -6]}, told=[0, 3],
            inputs={"news": (0.5, -2.0)}, judged_at=1_700_000_000.5, hops=3, postponed=1,
            found=Found(hub="http://b.test/", time=1_700_000_060.5, since=1_700_000_000.5),
            place=Place(entered=2, led=3, back=True, counted=True), silent=True, requests=3, failed=True,
            native=True,
            sizes=Sizes(visited=1_700_000_000.5, at=(1_699_999_000.5, 5000), last=(1_700_000_060.5, 6000)),
        ),
        ParentRow(
            url=URL, linked=True, verdict=VERDICT, text="wort worte",
            targets=CHILD, positions=[3], said=["näher dran\tund weiter\tdarüber"],
            partitions=(0, 3), time=1_700_000_000.5,
        ),
        ChildrenRow(targets=CHILD, positions=[3], kinds=[0], verdicts=[VERDICT], revised=2),
        BesideRow(verdict=VERDICT, words=("erste", "zweite"), pages={CHILD: None}),
        LeasedRow(pages=[CHILD]),
        StartRow(best=[CHILD, PAGE], vouched={"a.test": 0.75}, discovered=17),
        HostRow(
            judged=12,
            state=HostState(
                asked=1_700_000_000.5, elapsed=0.25, delay=10.0, until=1_700_000_120.0, wait=60.0, failures=4,
                server="192.0.2.7", retry_after=1_700_000_090.5,
            ),
            requests=15, again=3, moved=2, waits=Waits(seconds=7.5, counts=[9, 0, 3, 0, 0, 0, 0, 0, 0, 6]),
            causes={"HTTP 404": Cause(count=4, time=1_700_000_000.5, page=PAGE)},
        ),
        RobotsRow(told=ROBOTS),
        OwnerRow(promises=Promised(promised=7.5, kept=6)),
        DepthRow(
            views=[7, 4], sessions=6, growth=Growth(pages=[1, 3], linking=[1, 2], new=[3, 4], seen=[0, 5])
        ),
        SpaceRow(pattern="http://a.test/cal/0", barren=Barren(copies=2, misses=7)),
        HubRow(
            url=URL, rate=ArrivalRate(links=0.5, seconds=1800.0, seen_links=2.5, seen_seconds=7200.0),
            until=1_700_086_400.0, visited=1_700_000_000.5, version=VERSION_HAD, brought=2, orders=7,
            lease=1_700_000_120.0, failures=1, not_before=1_700_000_030.0, moved="http://b.test/", visits=6,
            links=9,
        ),
        VisitRow(
            url=URL, visited=1_700_000_000.5, text="erste zweite", subject="wiki",
            title="Titel", version=VERSION_HAD, content=b"text", links=b"links", partitions=(0, 3),
            history=Visited(
                still=2, still_time=7_200_000, found={21: [1, 3_600_000]}, told=1, told_time=60_000,
                signals=2, wrong=1, wrong_time=30_000,
            ),
            signs={"feed": 2}, orders=4, lease=1_700_000_120.0, failures=1, not_before=1_700_000_030.0,
            missing=1_700_000_000.5, hinted={"feed": 1_700_000_030.5}, due=1_700_000_120.0,
        ),
        DueRow(url=URL),
        GroupRow(
            visits=GROUP,
            signs={"feed": TRUST},
        ),
        ClicksRow(url=URL, history=History(first=19_675, clicks=[5, 0, 1]), referrers={"http://b.test/": 4}),
        NewsRow(
            prefixes=["a.test/news/"], told=1_700_000_000.5, clicks=12, newest=19_675, pages=3, delay=7.5,
            delays=[1, 2],
        ),
        WaysRow(url=URL, ways=Ways(users={"": ["0123456789abcdef"], URL: ["fedcba9876543210"]}, bound=2**62)),
        TotalsRow(
            discovered=17, judged=12, gone=1, refused=2, moved=3, given_up=4, verdicts={"news": 11}, trapped=5,
            requests=25, revisits=6,
        ),
    ),
    "interests": (
        CountsRow(
            predicates=("news",), names=("w:wort", None), pages=b"\x0c\0\0\0\0\0\0\0",
            hits=b"\x03\0\0\0\0\0\0\0", slots=b"\x05\0\0\0\x06\0\0\0", stands=9,
        ),
        PriorRow(counts={"news": (12.5, 0.25)}),
        ModelRow(
            mean=b"mean", covariance=b"covariance", labels=12, calibration=b"calibration",
        ),
        LearnTotals(features=17, forgotten=5),
    ),
    "harvest": (
        HarvestRow(
            state=STATE,
            time=1_700_000_000.5,
        ),
        SeenRow(time=1_700_000_000.5, predicates=["news", "sport"]),
    ),
}  # fmt: skip

#: The row that every table has one of a partition, and what the embedded log knows of a topic.
MARK = Mark(offset=7, origins={"pages/3": (6, 1)}, quarantined=2)
TOPIC = TopicMeta(number=3, partitions=4, retention=604_800.0, compacted=True, most=1_000)
