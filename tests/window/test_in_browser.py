"""The window in a real browser, on a running crawl of a hostile web: seen, steered, killed, started again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from tests.patience import wait_for
from tests.webs.hostile import HOSTS, SCRIPT, HostileWeb
from tests.webs.serving import serving
from tests.window.browser import WIDTHS, Browser
from tests.window.crawls import HOSTILE_PREDICATES, RunningCrawl, of_hostile_web, running_crawl
from tests.window.windows import SHOWN, base_of, printed_address

#: What a screen makes no element of, as markup; its links, and how they relate to it.
FOREIGN = """[...document.querySelectorAll("main :is(script, iframe, img, style, base, object)")]
  .map((found) => found.outerHTML)"""
LINKS = '[...document.querySelectorAll("main a[href]")].map((a) => [a.href, a.rel])'
#: The pages that satisfy the predicate that is shown, as the screen Pages counts them.
HITS = 'Number(document.querySelector(".pages .lead").innerText.replaceAll(",", "").match(/^\\d+/))'


@pytest.fixture(scope="module")
def web() -> HostileWeb:
    return HostileWeb()


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory, web: HostileWeb) -> Iterator[RunningCrawl]:
    directory = tmp_path_factory.mktemp("hostile")
    with serving(web.answer) as served:
        arguments = of_hostile_web(directory, served.origin)
        with running_crawl(directory / "data", arguments, web.asked.total) as crawl:
            yield crawl


@pytest.fixture(scope="module")
def base(crawl: RunningCrawl, browser: Browser) -> Iterator[str]:
    """Return the address of a window that the browser has entered."""
    with printed_address(crawl.data) as address:
        browser.asked()
        browser.open(address)
        browser.wait("location.pathname === '/'")
        yield base_of(address)


@pytest.fixture
def page(base: str, browser: Browser) -> Iterator[Browser]:
    """Return the browser; what it complains of, and what it asks of anybody else, fails the test."""
    browser.look(1300)
    yield browser
    assert browser.complaints() == []
    assert {address for address in browser.asked() if not address.startswith(f"{base}/")} == set()
    assert browser.run("globalThis.hit ?? null") is None, "hostile text was run"


def show(page: Browser, base: str, screen: str) -> None:
    """Open a screen, and wait until it shows what it has."""
    page.open("about:blank")
    page.open(f"{base}/#/{screen}")
    page.wait(f"document.querySelector('main .{screen}')?.innerText.trim().length > 0")
    page.wait("document.getElementById('crawl').innerText.includes('running')")


def said(page: Browser, text: str) -> None:
    """Wait until a screen says something."""
    page.wait(f"document.querySelector('main').innerText.includes({json.dumps(text)})")


def reach(page: Browser, which: str) -> None:
    """Press Tab until an element has the focus of which an expression of ``it`` holds; each shows its focus."""
    trail = []
    for number in range(300):
        if number % 60 == 59:
            page.click_corner()  # on a busy machine the first keys may reach nobody
        trail.append(page.run("document.activeElement.outerHTML.slice(0, 60)"))
        if page.run(f"((it) => {which})(document.activeElement)"):
            return
        page.press(Keys.TAB)
        outlined = "getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        assert page.run(f"document.activeElement === document.body || {outlined}"), (
            "what has the focus is not seen"
        )
    raise AssertionError(f"no key leads to {which}: {trail[:30]}")


def press(page: Browser, button: str) -> None:
    """Press a button by keyboard."""
    reach(page, f"it.matches('main button') && it.innerText === {json.dumps(button)}")
    page.press(Keys.ENTER)


def write(page: Browser, field: str, text: str) -> None:
    """Write into the field of that name in place of what is there."""
    reach(page, f"it.matches('main [name={field}]')")
    page.write(text)


# what is seen


@pytest.mark.parametrize("screen", SHOWN)
def test_each_screen_shows_the_crawl_to_everybody_at_every_width_as_text(
    page: Browser, base: str, screen: str
) -> None:
    show(page, base, screen)
    if screen in ("pages", "steer"):
        said(page, SCRIPT)
    assert page.run(FOREIGN) == []
    for address, rel in page.run(LINKS):
        assert address.startswith(("http://", "https://")), address
        assert address.startswith(f"{base}/") or set(rel.split()) == {"noreferrer", "noopener"}, address
    for width in WIDTHS:
        page.look(width)
        # Curves are drawn anew at each width, a frame later.
        wait_for(f"a page that fits into {width} pixels", lambda: page.overflow() == 0, 0.1)
    for width, scheme in ((max(WIDTHS), "light"), (min(WIDTHS), "dark")):
        page.look(width, scheme)
        assert page.barriers() == []
    assert page.run("document.getElementById('trouble').innerText") == ""


def test_hosts_say_how_they_stand_and_what_went_wrong_with_them(page: Browser, base: str) -> None:
    show(page, base, "hosts")
    page.wait("document.querySelector('main .hosts tbody').innerText.includes('to fetch')")
    page.run("document.querySelector('input[name=find]').focus()")
    page.press("cedar")
    page.wait("document.querySelector('main .hosts tbody').innerText.startsWith('www.cedar.example')")
    page.wait("document.querySelectorAll('main .hosts tbody tr').length === 1")
    page.run("document.querySelector('main .hosts tbody a').click()")
    page.wait("document.querySelector('main .hosts h2')?.innerText === 'www.cedar.example'")
    page.wait("document.querySelector('main .hosts')?.innerText.includes('/robots.txt')")
    show(page, base, "errors")
    page.wait("document.querySelector('main .errors tbody a') !== null")
    page.run("document.querySelector('main .errors tbody a').click()")
    page.wait("document.querySelector('main .errors h3').innerText.startsWith('Hosts with ')")
    page.wait("document.querySelector('main .errors section tbody a') !== null")
    page.run("document.querySelector('input[name=reason]').focus()")
    page.press("no such cause")
    page.wait(
        "document.querySelector('main .errors .lead').innerText === 'No cause has “no such cause” in it.'"
    )
    assert page.barriers() == []


def test_a_theme_is_chosen_and_kept(page: Browser, base: str) -> None:
    colours = []
    for press_theme in (False, True, False, True):
        show(page, base, "now")
        if press_theme:
            page.run("document.getElementById('theme').click()")
        colours.append(page.run("getComputedStyle(document.body).backgroundColor"))
    light, dark, kept, again = colours
    assert (light != dark, dark == kept, light == again) == (True, True, True)
    page.run("localStorage.clear()")


def test_every_screen_is_reached_by_keyboard_alone(page: Browser, base: str) -> None:
    show(page, base, "now")
    for screen in SHOWN:
        reach(page, f"it.matches('#screens a[href=\"#/{screen}\"]')")
        page.press(Keys.ENTER)
        page.wait(f"document.querySelector('main .{screen}') !== null")


# what is steered, by keyboard


def test_a_crawl_is_paused_and_goes_on(page: Browser, base: str, crawl: RunningCrawl) -> None:
    show(page, base, "steer")
    press(page, "Pause the crawl")
    said(page, "The crawl is paused")
    assert "paused" in crawl.told("steer", "list")
    crawl.wait_until_silent()
    silent = crawl.requests()
    press(page, "Go on")
    said(page, "The crawl may fetch")
    crawl.wait_for(silent + 5)


def test_what_is_excluded_is_not_asked_for_until_it_is_included(
    page: Browser, base: str, crawl: RunningCrawl, web: HostileWeb
) -> None:
    host = HOSTS[-1]
    show(page, base, "steer")
    write(page, "text", f"http://{host}/")
    said(page, "eaves out")
    page.press(Keys.ENTER)
    said(page, f"Include http://{host}/")
    assert f"http://{host}/" in crawl.told("steer", "list")
    crawl.wait_for(crawl.requests() + 10)  # what was ordered before has come
    before = web.asked[host]
    crawl.wait_for(crawl.requests() + 20)
    assert web.asked[host] == before
    press(page, f"Include http://{host}/")
    wait_for("a request to an included host", lambda: web.asked[host] > before)


def test_a_predicate_is_checked_while_it_is_typed_and_looked_for_when_it_is_added(
    page: Browser, base: str, crawl: RunningCrawl
) -> None:
    show(page, base, "steer")
    write(page, "name", "gardens")
    write(page, "expression", 'text("gardens" or')
    page.wait("document.querySelector('.caret')?.innerText.includes('^')")
    write(page, "expression", '"gardens" and not "ice"')
    said(page, "It can be read")
    assert not page.run("document.querySelector('.caret').innerText")
    press(page, "Add the predicate")
    page.wait("[...document.querySelectorAll('main th')].some((name) => name.innerText === 'gardens')")
    assert "gardens" in crawl.told("predicate", "list")
    for button in ("Remove gardens", "Keep it", "Remove gardens", "Remove gardens for good"):
        said(page, button)
        press(page, button)
    page.wait("![...document.querySelectorAll('main th')].some((name) => name.innerText === 'gardens')")


def test_both_budgets_are_set_at_once_and_a_delay_is_undone(
    page: Browser, base: str, crawl: RunningCrawl
) -> None:
    show(page, base, "steer")
    write(page, "pages", "80000")
    write(page, "requests", "90000")
    press(page, "Set the budget")
    said(page, "In force, in all: 80,000 pages and 90,000 requests")
    assert "80000" in crawl.told("steer", "list")
    write(page, "host", "slow.test")
    write(page, "seconds", "9")
    press(page, "Set the delay")
    said(page, "As usual for slow.test")
    assert "9 s" in crawl.told("steer", "list")
    press(page, "As usual for slow.test")
    said(page, "Every host is asked as often as is polite")


def test_what_is_refused_is_said(page: Browser, base: str) -> None:
    show(page, base, "steer")
    write(page, "host", "no host/")
    write(page, "seconds", "5")
    page.press(Keys.ENTER)
    said(page, "is no host")
    assert ["400" in each for each in page.complaints()] == [True]


def test_a_window_that_only_shows_offers_nothing_to_change(
    page: Browser, base: str, crawl: RunningCrawl
) -> None:
    with printed_address(crawl.data, "--read-only") as address:
        page.open(address)
        page.wait("location.pathname === '/'")
        show(page, base_of(address), "steer")
        for name in HOSTILE_PREDICATES:
            said(page, name)
        changing = "form, input, textarea, button:not(.sort, .pager *)"
        page.wait(f"document.querySelectorAll('main :is({changing})').length === 0")
        page.open("about:blank")
        page.asked()


def test_each_screen_says_that_no_crawl_has_begun(page: Browser, tmp_path: Path) -> None:
    with printed_address(tmp_path / "none") as address:
        page.open(address)
        page.wait("location.pathname === '/'")
        for screen in SHOWN:
            page.open("about:blank")
            page.open(f"{base_of(address)}/#/{screen}")
            said(page, "No crawl has begun in this directory yet.")
        page.open("about:blank")
        page.asked()


# what becomes of the crawl


def test_what_is_found_is_seen_as_it_comes_also_when_the_crawl_was_killed_and_started_again(
    page: Browser, base: str, crawl: RunningCrawl
) -> None:
    show(page, base, "pages")
    page.run("location.hash = '#/pages?predicate=hockey'")
    page.run("globalThis.mark = 1")
    page.wait(f"{HITS} > 0")
    page.wait(f"{HITS} > {page.run(HITS)}")
    crawl.kill()
    page.wait("document.getElementById('crawl').innerText.includes('at rest')")
    crawl.start()
    page.wait("document.getElementById('crawl').innerText.includes('running')")
    page.wait(f"{HITS} > {page.run(HITS)}")
    assert page.run("globalThis.mark") == 1, "the page was loaded anew"
