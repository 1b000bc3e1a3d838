"""An example of every record of every topic; each field has a value of its own, which is not its default."""

from typing import Any

from scentline.models.harvest import Harvest
from scentline.models.page import Link
from scentline.streams.facts import (
    Access,
    Beside,
    Brought,
    Browsed,
    Clicked,
    Count,
    Failed,
    Hinted,
    Hub,
    Inherited,
    Judged,
    Label,
    Linked,
    Listed,
    Met,
    Near,
    Postponed,
    Prior,
    Redirected,
    Rejudged,
    Relinked,
    Relisted,
    Revisited,
    Seeded,
    Start,
    Together,
    Visited,
)
from scentline.streams.published import (
    PAUSED,
    Change,
    Exclusion,
    FreshnessPart,
    HarvestPart,
    HarvestPoint,
    HostStanding,
    Limit,
    Outcome,
    Pausing,
    PredicateDefinition,
    Slowing,
    Standing,
    Upcoming,
    Watch,
)
from scentline.streams.records import (
    DeadLetter,
    FetchedPage,
    FetchOrder,
    Interests,
    LogPosition,
    Pack,
    Revisit,
    RobotsTxt,
    Version,
    Weighting,
)
from scentline.streams.topics import (
    ACCESSES,
    CHANGES,
    DEAD_LETTERS,
    EVIDENCE,
    FETCHES,
    FRESHNESS,
    HARVEST,
    HARVEST_PARTS,
    INTERESTS,
    LOG_POSITIONS,
    OUTCOMES,
    PAGES,
    PREDICATES,
    SIGHTINGS,
    STANDING,
    STEERING,
    WATCHING,
)

PAGE = b"\x00page\xff"
CHILD = b"\x01child"
URL = "http://a.test/wiki?q=1"
LINK = Link(
    url="http://b.test/", anchor=("näher", "dran"), context=("und", "weiter"), position=3, heading=("darüber",)
)
VERDICT = {"news": True, "sport": False}
VERSION_HAD = Version(etag='"v1"', last_modified="Mon, 01 Jan 2024 00:00:00 GMT")
STATE = Harvest(
    window_pages=500, window_seconds=60.0, pages=12, hits=5, policies={"learned": (8, 4)},
    ring=bytearray(b"\x1f\x00"), ring_hits=5, parts={28_333: (3, 1)}, latest=28_334,
    newest=1_700_000_000_500, gaps=[1_700_000_000_000, 500],
    requests=17,
)  # fmt: skip
ROBOTS = RobotsTxt(
    url="http://a.test/robots.txt", until=1_700_086_400.5, text=b"compressed", time=1_700_000_000.5,
    version=VERSION_HAD, error="status 503",
)  # fmt: skip

ORDER = FetchOrder(
    url=URL, order=2, predicate="news", policy="learned", explored=True, probability=0.125, priority=-1.5,
    depth=4, lease=1_700_000_120.0, expected=0.75,
    revisit=Revisit(
        version=VERSION_HAD, since=1_700_000_000.5, again=True, verdict=VERDICT, content=b"text",
        links=b"links", partitions=(0, 3), judged=1_699_999_000.5,
    ),
    pattern="http://a.test/**", vouched=0.25, silent=True, comes=0.875, requests=17, delay=2.5,
    robots=ROBOTS,
)  # fmt: skip

SIGHTED = (
    Seeded(url=URL),
    Inherited(
        url=URL, depth=4, priorities={"news": -1.5}, seed=True, inputs={"news": (0.5, -2.0)}, hops=2,
        level=3,
    ),
    Linked(
        page=PAGE, url=URL, depth=4, verdict=VERDICT, words=("erste", "zweite"), links=(LINK,),
        partitions=(0, 3), time=1_700_000_000.5, again=True,
    ),
    Relinked(page=PAGE, verdict=VERDICT, time=1_700_000_000.5),
    Visited(url=URL, user="0123456789abcdef", time=1_700_000_000.5, referrer="http://a.test/", size=5000),
    Browsed(page=PAGE, level=2, begun=True, views=[(0, 1), (2, 1)]),
    Near(parent=PAGE, child=CHILD, verdict=VERDICT, position=3),
    Together(url=URL, pages=(Beside(other=CHILD, partition=3, times=2, sixths=-6),)),
    Met(page=PAGE, verdict=VERDICT, words=("erste", "zweite")),
    Judged(
        url=URL, verdict=VERDICT, time=1_700_000_000.5, crawl_delay=5.0, words=("erste", "zweite"),
        elapsed=0.25, server="192.0.2.1", repeated=True, subject="wiki",
        version=VERSION_HAD, pattern="http://a.test/**", silent=True, again=2, changed=True, content=b"text",
        links=b"links", partitions=(0, 3), title="Wiki", excerpts={"news": "das Neueste"},
    ),
    Rejudged(
        url=URL, verdict=VERDICT, time=1_700_000_000.5, words=("erste", "zweite"), subject="wiki",
        pattern="http://a.test/**",
    ),
    Failed(
        url=URL, order=2, kind="retry", reason="status 503", time=1_700_000_000.5, retry_after=60.0,
        overloaded=True, crawl_delay=5.0, elapsed=0.25, server="192.0.2.1", barren=True,
        silent=True, unanswered=True,
    ),
    Redirected(
        url=URL, order=2, target="http://b.test/", time=1_700_000_000.5, crawl_delay=5.0, elapsed=0.25,
        server="192.0.2.1", silent=True,
    ),
    Postponed(
        url=URL, order=2, time=1_700_000_000.5, wait=1.5, crawl_delay=5.0, server="192.0.2.1", robots=True
    ),
    ROBOTS,
    Listed(url=URL),
    Hub(url=URL, rate=0.25, until=1_700_086_400.0),
    Relisted(
        url=URL, depth=4, links=("http://b.test/", "http://c.test/"), time=1_700_000_060.5,
        since=1_700_000_000.5,
    ),
    Brought(url=URL, links=2),
    Revisited(
        url=URL, order=2, outcome="retry", time=1_700_000_000.5, version=VERSION_HAD, wait=60.0,
        target="http://b.test/", overloaded=True, crawl_delay=5.0, elapsed=0.25, server="192.0.2.1",
        again=True, reason="status 410", unanswered=True, robots=True,
    ),
    Hinted(url=URL, kind="feed", time=1_700_000_000.5),
    Clicked(url=URL, day=19_675, referrer="http://b.test/"),
)  # fmt: skip
TAUGHT = (
    Count(features=("w:wort", "u:wiki"), verdict=VERDICT, times=b"\1\0\0\0\xff\xff\xff\xff"),
    Label(predicate="news", inputs=(0.5, -2.0), holds=True, chosen="explored"),
    Prior(feature="w:wort", counts={"news": (12.5, 0.25)}),
    Start(
        predicate="news", names=("words", "links"), mean=b"mean", covariance=b"covariance",
        calibration=b"calibration",
    ),
)  # fmt: skip

#: The examples of each topic, as they are encoded; `proxy-log` has raw lines.
RECORDS: dict[str, tuple[Any, ...]] = {
    ACCESSES.name: (
        Pack(
            source="0f1e2d3c",
            facts=[
                (
                    7,
                    1,
                    Access(
                        user="0123456789abcdef", url=URL, time=1_700_000_000.5, referrer="http://b.test/",
                        status=304, content_type="text/html", size=5000,
                    ),
                )
            ],
        ),
    ),
    SIGHTINGS.name: tuple(Pack(source="pages/3", facts=[(7, 1, fact)]) for fact in SIGHTED),
    FETCHES.name: (ORDER,),
    PAGES.name: (
        FetchedPage(
            order=ORDER, status=404, headers={"content-type": "text/html"}, body=b"\x28\xb5\x2f\xfd",
            time=1_700_000_000.5, elapsed=0.25, crawl_delay=5.0, nofollow=True, server="192.0.2.1",
        ),
    ),
    OUTCOMES.name: (
        Outcome(
            url=URL, time=1_700_000_000.5, title="Titel", verdict=VERDICT, predicate="news", policy="learned",
            explored=True, probability=0.125, priority=-1.5, expected=0.75, depth=4,
            words=("erste", "zweite"), links=(LINK,), origin="pages/3@7", later=True,
            pattern="http://a.test/**", silent=True, requests=17, again=True, left="status 410",
        ),
    ),
    CHANGES.name: (
        Change(
            predicate="news", kind="moved", url=URL, time=1_700_000_060.5, before=1_700_000_000.5,
            title="Titel", excerpt="das Neueste", reason="status 301", target="http://b.test/",
            origin="sightings/3@7",
        ),
    ),
    EVIDENCE.name: tuple(Pack(source="sightings/3", facts=[(7, 1, fact)]) for fact in TAUGHT),
    INTERESTS.name: (
        Interests(
            partition=3, offset=7, origins={"sightings/2": (6, 1)}, block=True, predicates=("news",),
            names=("w:wort", "u:wiki"), pages=b"\x0c\0\0\0\x05\0\0\0", hits=b"\x03\0\0\0\x01\0\0\0",
            prior={"w:wort": {"news": (12.5, 0.25)}},
            weightings={
                "news": Weighting(mean=b"mean", covariance=b"covariance", shifts=((0.5, 2.0), (-1.0, 3.0)))
            },
        ),
    ),
    HARVEST.name: (
        HarvestPoint(
            predicate="news", partition=3, time=1_700_000_000.5, pages=12, hits=5, harvest_rate=0.375,
            rate_by_pages=0.5, rate_by_time=0.625, lift=2.5, policies={"learned": (8, 4), "random": (4, 1)},
            covers={0: 7, 3: 11}, requests=17, hits_per_request=0.25, matches=4, freshness=0.75, age=3600.5,
            revisits=9, revisit_share=0.5,
        ),
    ),
    HARVEST_PARTS.name: (
        HarvestPart(predicate="news", partition=3, offset=11, time=1_700_000_000.5, state=STATE),
    ),
    FRESHNESS.name: (
        FreshnessPart(
            predicate="news", partition=3, time=1_700_000_000.5, matches=4, current=3.25, age=14_402.5,
            revisits=9, requests=17,
        ),
    ),
    PREDICATES.name: (
        PredicateDefinition(name="news", expression='title("news*")', share=2.5, state=PAUSED, kept=True),
    ),
    WATCHING.name: (Watch(until=1_700_000_015.5, predicate="news", hosts=("a.test", "b.test")),),
    STANDING.name: (
        Standing(
            worker="3", time=1_700_000_000.5, state="ended", final=True, partitions=2, of=4, judged=12,
            requests=25, discovered=17, failed=5, refused=2, moved=3, trapped=1, revisits=6,
            pages_a_second=1.5, requests_a_second=2.5, in_flight=7, revisits_in_flight=4, window=16, room=9,
            queued={"news": 100, "sport": 90}, hosts={"news": 40, "sport": 30}, ready=8,
            waiting={"delay": 31, "retry-after": 1}, next_ready=0.75, seen=0.5, retries=11, next_retry=29.5,
            opening=True, taken_up=0.25, filling=True, budget=500, requests_budget=600, left=488, slots=0.25,
            held_by="politeness", held=30,
            best=(
                Upcoming(
                    url=URL, priority=-1.5, probability=0.125, comes=0.875, waits=2.5,
                    speaks=(("siblings", 1.25), ("depth", -0.5)),
                ),
            ),
            best_of="news",
            looked_at=(
                HostStanding(host="a.test", state="waits", why="robots", until=1_700_000_005.5, candidates=3),
            ),
            began=1_699_999_000.5,
        ),
    ),
    STEERING.name: (
        Pausing(on=True, time=1_700_000_000.5),
        Exclusion(
            name="0f1e2d3c4b", prefix="http://a.test/shop/", expression="[?&]print=", on=False,
            time=1_700_000_000.5,
        ),
        Limit(name="pages", most=500, setting=100, time=1_700_000_000.5),
        Slowing(name="a.test", seconds=12.5, time=1_700_000_000.5),
    ),
    DEAD_LETTERS.name: (
        DeadLetter(
            topic="pages", partition=3, offset=7, reason="not a FetchedPage", value=b"\xc1",
            time=1_700_000_000.5, why="quarantine", origin=(6, 1),
        ),
    ),
    LOG_POSITIONS.name: (LogPosition(line=20_000, reading="0f1e2d3c"),),
}  # fmt: skip
