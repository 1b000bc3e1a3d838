"""The alerts that the window sees fire as the rules of Prometheus do, by the same names and thresholds."""

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.window import alerts
from scentline.agents.window.alerts import Seen, firing
from scentline.agents.window.curves import LEAST, SHOWN, chance, curve, lift
from scentline.models.harvest import RANDOM, Harvest
from scentline.streams.records import HarvestPoint, Standing
from tests.agents.commands import ROOT
from tests.cases import each_case

NOW = 1_000_000.0
RULES: dict[str, Any] = {
    rule["alert"]: rule
    for group in yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
}


def a_point(time: float = NOW, pages: int = 1_000, **told: Any) -> HarvestPoint:
    known: dict[str, Any] = {
        "predicate": "p", "time": time, "pages": pages, "hits": pages // 2, "harvest_rate": 0.5,
        "rate_by_pages": 0.5, "rate_by_time": 0.5, "lift": None, "policies": {},
    }  # fmt: skip
    return HarvestPoint(**known | told)


def a_seen(**told: Any) -> Seen:
    queued = {"p": 9}
    standing = Standing(
        worker="0", time=NOW, state="running", partitions=1, of=1, queued=queued, began=NOW - 9_000
    )
    return Seen(NOW, standing, {"p": [a_point()]}, 500, {}, {})._replace(**told)


def lasting(seconds: float, **told: Any) -> list[HarvestPoint]:
    """Return a curve of so many seconds."""
    return [a_point(NOW - seconds * part / 10, 1_000 - part, **told) for part in range(10, -1, -1)]


def test_a_crawl_that_is_well_fires_nothing() -> None:
    assert firing(a_seen()) == []
    assert firing(a_seen(standing=None, curves={"p": []})) == []


COLLAPSED = {"rate_by_pages": 0.14}
STALE = {"matches": 50, "freshness": 0.49}


@each_case(
    ("seen", "name", "text"),
    [
        (
            a_seen(curves={"p": [a_point(NOW - 1_801), a_point(NOW - 5)]}),
            "ScentlineCrawlStalled",
            "No page was judged for 30 minutes, though candidates wait.",
        ),
        (
            a_seen(waits={"pages": (101, 901.0)}),
            "ScentlineLagging",
            "pages is 15 minutes behind: 101 messages wait.",
        ),
        (
            a_seen(curves={"p": lasting(1_900, **COLLAPSED)}),
            "ScentlineHarvestRateCollapsed",
            "p: of late 14.0 % of the pages satisfy it, of all 50.0 %.",
        ),
        (
            a_seen(curves={"p": lasting(3_700, **STALE)}),
            "ScentlineMatchesStale",
            "p: 49.0 % of its matches are still as they were visited.",
        ),
        (
            a_seen(letters={("pages", "quarantine"): 1}),
            "ScentlineDeadLetters",
            "1 message of pages could not be read or taken in (quarantine).",
        ),
        (
            a_seen(letters={("access.log", ""): 8}),
            "ScentlineDeadLetters",
            "8 messages of access.log could not be read or taken in.",
        ),
    ],
)
def test_an_alert_fires_as_its_rule_does(seen: Seen, name: str, text: str) -> None:
    [found] = firing(seen)
    assert (found.name, found.text) == (name, text)
    assert found.severity == RULES[name]["labels"]["severity"]


@each_case(
    "seen",
    [
        a_seen(curves={"p": [a_point(NOW - 1_799)]}),
        a_seen(curves={"p": [a_point(NOW - 9_999)]}, standing=None),
        a_seen(waits={"pages": (100, 9_999.0), "outcomes": (9_999, 899.0)}),
        a_seen(curves={"p": lasting(1_700, **COLLAPSED)}),
        a_seen(curves={"p": lasting(1_900, **COLLAPSED)}, window_pages=199),
        a_seen(
            curves={"p": [a_point(NOW - 1_900, 900), a_point(NOW - 1_800, 950), *lasting(1_700, **COLLAPSED)]}
        ),
        a_seen(curves={"p": lasting(1_900, rate_by_pages=0.15)}),
        a_seen(curves={"p": lasting(3_500, **STALE)}),
        a_seen(curves={"p": lasting(3_700, matches=49, freshness=0.1)}),
    ],
)
def test_short_of_a_threshold_nothing_fires(seen: Seen) -> None:
    assert firing(seen) == []


def test_thresholds_are_those_of_the_rules() -> None:
    stalled, lagging, collapsed, stale, letters = (
        RULES[f"Scentline{name}"]
        for name in ("CrawlStalled", "Lagging", "HarvestRateCollapsed", "MatchesStale", "DeadLetters")
    )
    assert "[15m]" in stalled["expr"]
    assert (stalled["for"], alerts.STALLED_SECONDS, alerts.STALLED_FOR) == ("15m", 900, 900)
    assert f"> {alerts.LAG_SECONDS:.0f}" in lagging["expr"]
    assert f"> {alerts.LAG_MESSAGES}" in lagging["expr"]
    assert f"< {alerts.COLLAPSED} *" in collapsed["expr"]
    assert f">= {alerts.COLLAPSED_PAGES}" in collapsed["expr"]
    assert (collapsed["for"], alerts.COLLAPSED_FOR) == ("30m", 1800)
    assert f"< {alerts.STALE}" in stale["expr"]
    assert f">= {alerts.STALE_MATCHES}" in stale["expr"]
    assert (stale["for"], alerts.STALE_FOR) == ("1h", 3600)
    assert f'reason!~"{"|".join(alerts.LETTERS_LEFT_OUT)}"' in letters["expr"]
    assert "[15m]" in letters["expr"]
    assert alerts.LETTERS_SECONDS == 900


# curves

judged = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=600)


@given(judged)
def test_a_curve_ends_with_its_newest_point_and_its_bounds_hold_its_rates(
    pages: list[tuple[bool, bool]],
) -> None:
    state, points = Harvest(500, 60.0), []
    for number, (hit, explored) in enumerate(pages):
        state.add(hit, float(number), "learned", explored=explored)
        points.append(
            a_point(
                float(number), state.pages, hits=state.hits, harvest_rate=state.rate, lift=state.lift,
                rate_by_pages=state.rate_by_pages, policies=dict(state.policies),
            )
        )  # fmt: skip
    shown = curve(points)
    assert {len(column) for column in shown.values()} == {len(shown["pages"])}
    assert len(shown["pages"]) <= SHOWN + 1
    assert shown["pages"][-1] == len(pages)
    assert shown["pages"] == sorted({point.pages for point in points if point.pages in shown["pages"]})
    for point in points:
        drawn, _ = point.policies.get(RANDOM, (0, 0))
        found, better = chance(point), lift(point)
        assert (found is None) == (drawn < LEAST)
        if found is not None:
            assert 0 <= found["low"] <= found["rate"] <= found["high"] <= 1
        if better is not None:
            assert better == sorted(better)
            assert not better[0] < 1 < better[2]
