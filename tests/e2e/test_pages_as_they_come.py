"""A crawl of a site with everything in it that is no page to be judged: each is told, and the rest goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.commands import printed
from tests.agents.test_archive import page, write
from tests.cases import each_case

SITE = "http://site.test"
SESSION = "0123456789abcdef0123456789abcdef"
STORY = " ".join(f"snow{n} lies on the alps" for n in range(80))


def html(title: str, text: str = "", *links: str, head: str = "") -> bytes:
    anchors = "".join(f"<li><a href='{link}'>{link}</a>" for link in links)
    return f"<html><head><title>{title}</title>{head}</head><body><p>{text}</p>{anchors}".encode()


PAGES = {
    "/": html(
        "Home", "A site.",
        *("/story", "/copy", f"/story?PHPSESSID={SESSION}", "/lost", "/file", "/unlisted", "/a/b/a/b/a/b"),
        *("/moved", "/frames", "/old", *(f"/day/2031/05/{n}" for n in range(1, 10))),
    ),
    "/story": html("A story", STORY, "/more"),
    "/copy": html("A story", f"{STORY} once more", "/only-here"),
    "/lost": html("Page not found", "Sorry.", "/lost-too"),
    "/file": b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n",
    "/unlisted": html("Hidden", "alps", "/secret", head="<meta name=robots content=noindex>"),
    "/moved": html("Moved", "", head="<meta http-equiv=refresh content='0; url=/target'>"),
    "/frames": b"<frameset><frame src=menu></frameset>",
    "/old": "<title>Café</title>Gr\u00fc\u00dfe aus den Alps".encode("cp1252"),
    **{f"/{name}": html(name, "alps") for name in ("more", "only-here", "lost-too", "secret", "target")},
    "/menu": html("Menu", "alps"),
    "/a/b/a/b/a/b": html("Deep", "alps"),
    **{f"/day/2031/05/{n}": html(f"Day {n}", "Nothing.") for n in range(1, 10)},
}  # fmt: skip


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    write(place / "site.warc.gz", *(page(SITE + path, body) for path, body in PAGES.items()))
    options = ("--set", "frontier.barren_dates=3", "--set", "frontier.window_max=1", "--data", "data")
    printed(
        place, "crawl", "--archive", "site.warc.gz", "--seed", f"{SITE}/", "--predicate", 'a="alps"', *options
    )
    return place


def known(crawled: Path, path: str) -> dict[str, Any]:
    options = ("--json", "--data", "data", "--set", "frontier.barren_dates=3")
    found: dict[str, Any] = json.loads(printed(crawled, "explain", SITE + path, *options))
    return found


@each_case(
    ("path", "state", "reason"),
    [
        ("/lost", "gone", "soft 404: the page says that there is none"),
        ("/file", "refused", "not HTML or text: PDF, served as text/html"),
        ("/unlisted", "refused", "the page asks not to be indexed"),
        ("/a/b/a/b/a/b", "trapped", "3 times in a row the path segments a/b"),
        ("/target", "judged", ""),
        ("/menu", "judged", ""),
        ("/old", "judged", ""),
    ],
)
def test_each_page_comes_to_its_end(crawled: Path, path: str, state: str, reason: str) -> None:
    found = known(crawled, path)
    assert (found["state"], found["reason"]) == (state, reason)


def test_of_two_like_pages_one_is_judged(crawled: Path) -> None:
    found = {path: known(crawled, path) for path in ("/story", "/copy")}
    judged, refused = sorted(found, key=lambda path: str(found[path]["state"]))
    assert found[judged]["verdict"] == {"a": True}
    assert found[refused]["verdict"] is None
    assert (found[refused]["state"], found[refused]["reason"]) == (
        "refused",
        f"near-duplicate of {SITE}{judged}",
    )


def test_a_session_in_a_url_makes_no_other_page(crawled: Path) -> None:
    assert known(crawled, f"/story?PHPSESSID={SESSION}") == known(crawled, "/story")


@each_case("path", ["/lost-too", "/secret"])
def test_the_links_of_what_is_not_judged_are_not_followed(crawled: Path, path: str) -> None:
    with pytest.raises(AssertionError, match="does not know"):
        known(crawled, path)


def test_a_calendar_without_events_is_left_alone(crawled: Path) -> None:
    states = [known(crawled, f"/day/2031/05/{n}")["state"] for n in range(1, 10)]
    assert states.count("judged") == 3
    assert states.count("candidate") == 6
    waiting = f"{SITE}/day/2031/05/{states.index('candidate') + 1}"
    told = printed(crawled, "explain", waiting, "--data", "data", "--set", "frontier.barren_dates=3")
    assert f"not fetched: the last 3 pages like {SITE}/day/0/0/0 satisfied no predicate" in told


def test_the_audit_is_clean(crawled: Path) -> None:
    report = json.loads(printed(crawled, "audit", "--json", "--data", "data").splitlines()[-1])
    assert [report[name] for name in ("judged_twice", "lost", "differences")] == [0, 0, 0]
