"""Robots in logs: told by agent, robots.txt and rate, from the lines up to there and nothing else."""

import pytest

from scentline.models.accesslog import robots as module
from scentline.models.accesslog.entry import Entry
from scentline.models.accesslog.robots import Robots
from tests.cases import each_case

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36"


def entry(url: str = "/a", time: float = 0.0, agent: str | None = BROWSER) -> Entry:
    return Entry("192.0.2.7", None, time, "GET", url, 200, 5, agent=agent)


@each_case(
    "agent",
    [
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        *("msnbot-media/1.1", "BaiduSpider", "CRAZYWEBCRAWLER 0.9.10", "Twitterbot", "curl/8.5.0", "Wget/1.21"),
        *(
            "python-requests/2.31",
            "Python/3.11 aiohttp/3.9",
            "Java/1.8.0_91",
            "Go-http-client/1.1",
            "Scrapy/2.11",
        ),
        *("Mozilla/5.0 (compatible; Yahoo! Slurp)", "WordPress/4.7.4", "Feedbin feed-id:1 - 2 (x@feedbin.com)"),
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0",
    ],
)
def test_a_robot_is_told_by_its_agent(agent: str) -> None:
    assert Robots(120).reason("u", entry(agent=agent)) == "robot by agent"


@each_case(
    "agent",
    [
        *(
            BROWSER,
            "",
            "-",
            None,
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)",
            "Opera/9.80 (J2ME/MIDP)",
        ),
        *("Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36", "UCWEB/2.0 (Java; U; MIDP-2.0)"),
        *("Lynx/2.8.9rel.1 libwww-FM/2.14", "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0)"),
    ],
)
def test_peoples_programs_are_no_robots(agent: str | None) -> None:
    assert Robots(120).reason("u", entry(agent=agent)) is None


@each_case("url", ["/robots.txt", "http://a.org/robots.txt?x=1"])
def test_who_asked_for_robots_txt_is_a_robot_from_then_on(url: str) -> None:
    robots = Robots(120)
    assert robots.reason("u", entry()) is None
    robots.ask("u", entry(url))
    assert robots.reason("u", entry()) == "robot by robots.txt"
    assert robots.reason("v", entry()) is None


def test_asking_for_something_else_makes_no_robot() -> None:
    robots = Robots(120)
    for url in ("/robots.txt/a", "/a?b=/robots.txt", "/humans.txt"):
        robots.ask("u", entry(url))
    assert robots.reason("u", entry()) is None


def test_more_views_in_a_minute_than_the_rate_make_a_robot() -> None:
    robots = Robots(3)
    slow = [robots.reason("slow", entry(time=20.0 * number)) for number in range(30)]
    fast = [robots.reason("fast", entry(time=600.0 + number)) for number in range(5)]
    assert set(slow) == {None}
    assert fast == [None, None, None, "robot by rate", "robot by rate"]
    assert robots.reason("fast", entry(time=9000.0)) == "robot by rate"


def test_without_a_rate_nobody_is_too_fast() -> None:
    robots = Robots(0)
    assert {robots.reason("u", entry()) for _ in range(1000)} == {None}


def test_late_lines_count_to_the_minute_that_is_open() -> None:
    robots = Robots(3)
    seen = [robots.reason("u", entry(time=time)) for time in (120.0, 30.0, 121.0, 31.0)]
    assert seen == [None, None, None, "robot by rate"]


def test_memory_is_bounded_and_the_latest_robots_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 10)
    robots = Robots(1)
    for number in range(100):
        robots.ask(f"robot {number}", entry("/robots.txt"))
    known = [number for number in range(100) if robots.reason(f"robot {number}", entry())]
    assert 10 <= len(known) <= 20
    assert known == list(range(100 - len(known), 100))
    for number in range(100):
        robots.reason(f"viewer {number}", entry(time=600.0))
    again = [number for number in range(100) if robots.reason(f"viewer {number}", entry(time=601.0))]
    assert again == list(range(10))


def test_the_same_lines_give_the_same_answers() -> None:
    lines = [
        (f"u{number % 7}", entry("/robots.txt" if number % 31 == 0 else "/a", number)) for number in range(500)
    ]

    def answers() -> list[str | None]:
        robots = Robots(8)
        found = []
        for identity, line in lines:
            robots.ask(identity, line)
            found.append(robots.reason(identity, line))
        return found

    assert answers() == answers()
    assert len(set(answers())) > 1
