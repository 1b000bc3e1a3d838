"""What a client found in a page counts as what the page itself says does, for later predicates too."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from lxml import html

from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed, running
from tests.agents.scenarios import outcomes
from tests.agents.test_judge import HTML, URL, a_page, told
from tests.cases import each_case
from tests.door.clients import crawl_of, door_of, follow, has_tip, judged
from tests.e2e.crawls import SIZE, exact, synthetic
from tests.patience import PATIENCE

PAGES = 30


def found(page: httpx.Response) -> dict[str, Any]:
    """Find an item that nothing in the page tells of, and want the links within its host."""
    root: Any = html.fromstring(page.content)
    targets = [page.url.join(link) for link in root.xpath("//a/@href")]
    inside = [{"url": str(target), "text": ""} for target in targets if target.host == page.url.host]
    return {"items": ["Tip"] if has_tip(str(page.url)) else ["Other"], "links": inside}


def test_a_crawl_by_the_items_and_links_of_a_client(tmp_path: Path) -> None:
    web = SyntheticWeb(*SIZE)
    seed = web.seeds(1)[0]
    with synthetic(web) as served:
        tip = 'tip=item("Tip") and not "unheard-of"'
        command = crawl_of(PAGES, served.origin, tip, **{"streams.partitions": 2})
        with running(tmp_path, *command, "--door", "127.0.0.1:0") as crawl:
            assert follow(door_of(crawl), tmp_path / "data", served.origin, [seed], found) == "spent"
            printed_by, _ = crawl.communicate(timeout=PATIENCE)
        assert last_line(printed_by)["fetched"] == PAGES
        printed(tmp_path, "predicate", "add", "late", 'item("Other")', "--kept", "--data", "data")
        printed(tmp_path, *command)
    verdicts = {url: page.verdict for url, page in judged(tmp_path).items()}
    assert verdicts == {url: {"tip": has_tip(url), "late": not has_tip(url)} for url in verdicts}
    assert {urlsplit(url).hostname for url in verdicts} == {urlsplit(seed).hostname}
    exact(tmp_path, "--data", "data", judged=PAGES)


# what the judge makes of it


def test_a_page_holds_the_items_that_a_client_found_in_it_by_their_exact_names() -> None:
    asked = {"tip": 'item("Tip") and "snow" and not item("Advert")', "other": 'item("tip") or item("Ti")'}
    found = told(a_page(items=("Tip", "Note")), a_page(url="http://a.org/more"), asked=asked)
    verdicts = [outcome.verdict for messages in found for outcome in outcomes(messages)]
    assert verdicts == [{"tip": True, "other": False}, {"tip": False, "other": False}]


@each_case(("changed", "followed"), [
    ({}, [("http://a.org/snow", ("more", "snow")), ("http://x.org/", ()), ("http://y.org/", ())]),
    ({"kind": "text/plain"}, [(url, ()) for url in ("http://x.org/", "http://a.org/snow", "http://y.org/")]),
    ({"nofollow": True}, []),
    ({"html": HTML + b'<meta name="robots" content="nofollow">'}, []),
    ({"wanted": ()}, []),
])  # fmt: skip
def test_of_a_pages_links_those_that_a_client_wants_are_followed_also_such_as_it_lacks(
    changed: dict[str, Any], followed: list[tuple[str, tuple[str, ...]]]
) -> None:
    wanted = {"wanted": ("http://x.org/", "http://a.org/snow", URL, "http://y.org/", "http://z.org/")}
    (messages,) = told(a_page(**wanted | changed), judge={"links": 3})
    (outcome,) = outcomes(messages)
    assert [(link.url, link.anchor) for link in outcome.links] == followed
