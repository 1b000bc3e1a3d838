"""The window in a real browser, on a running crawl of a hostile web: seen, steered, killed, started again."""

import json
from collections.abc import Iterator

import pytest
from selenium.webdriver.common.keys import Keys

from tests.webs.hostile import HOSTS, HostileWeb
from tests.window.browser import WIDTHS, Browser
from tests.window.crawls import RunningCrawl, of_hostile_web
from tests.window.windows import SHOWN, base_of, printed_address

#: What a screen makes no element of, as markup; its links, and how they relate to it.
FOREIGN = """[...document.querySelectorAll("main :is(script, iframe, img, style, base, object)")]
  .map((found) => found.outerHTML)"""
LINKS = '[...document.querySelectorAll("main a[href]")].map((a) => [a.href, a.rel])'


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCrawl]:
    with HostileWeb() as web, of_hostile_web(tmp_path_factory.mktemp("hostile"), web) as crawl:
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


@pytest.mark.parametrize("screen", SHOWN)
def test_each_screen_shows_the_crawl_to_everybody_at_every_width(page: Browser, base: str, screen: str) -> None:
    show(page, base, screen)
    for width in WIDTHS:
        page.look(width)
        assert page.overflow() == 0, f"at {width} pixels"
    for width, scheme in ((max(WIDTHS), "light"), (min(WIDTHS), "dark")):
        page.look(width, scheme)
        assert page.barriers() == []
    assert page.run("document.getElementById('trouble').innerText") == ""


def test_a_theme_is_chosen_and_kept(page: Browser, base: str) -> None:
    page.look(1300, "light")
    show(page, base, "now")
    light = page.run("getComputedStyle(document.body).backgroundColor")
    page.run("document.getElementById('theme').click()")
    dark = page.run("getComputedStyle(document.body).backgroundColor")
    assert light != dark
    show(page, base, "now")
    assert page.run("getComputedStyle(document.body).backgroundColor") == dark
    page.run("document.getElementById('theme').click()")
    assert page.run("getComputedStyle(document.body).backgroundColor") == light
    page.run("localStorage.clear()")


def test_every_screen_is_reached_by_keyboard_alone(page: Browser, base: str) -> None:
    show(page, base, "now")
    for screen in SHOWN:
        focus(page, f"#screens a[href='#/{screen}']")
        page.press(Keys.ENTER)
        page.wait(f"document.querySelector('main .{screen}') !== null")


def focus(page: Browser, selector: str) -> None:
    """Press Tab until an element has the focus; every one on the way shows that it has it."""
    page.run("document.activeElement.blur()")
    for _ in range(200):
        page.press(Keys.TAB)
        if page.run(f"document.activeElement.matches({selector!r})"):
            return
        assert page.run(
            "document.activeElement === document.body || getComputedStyle(document.activeElement)"
            ".outlineStyle !== 'none'"
        ), "what has the focus can't be seen"
    raise AssertionError(f"{selector} is not reached")


def test_hosts_say_how_they_stand_and_what_went_wrong_with_them(page: Browser, base: str) -> None:
    show(page, base, "hosts")
    page.wait("document.querySelector('main .hosts tbody').innerText.includes('to fetch')")
    page.run("document.querySelector('input[name=find]').focus()")
    page.press("cedar")
    page.wait("document.querySelector('main .hosts tbody').innerText.startsWith('www.cedar.example')")
    assert page.run("document.querySelectorAll('main .hosts tbody tr').length") == 1
    page.run("document.querySelector('main .hosts tbody a').click()")
    page.wait("document.querySelector('main .hosts h2')?.innerText === 'www.cedar.example'")
    page.wait("document.querySelector('main .hosts')?.innerText.includes('/robots.txt')")
    show(page, base, "errors")
    page.wait("document.querySelector('main .errors tbody a') !== null")
    page.run("document.querySelector('main .errors tbody a').click()")
    page.wait("document.querySelector('main .errors h3').innerText.startsWith('Hosts with ')")
    page.wait("document.querySelector('main .errors section tbody a') !== null")
    assert page.barriers() == []


def test_a_crawl_that_is_killed_and_started_again_is_picked_up(
    page: Browser, base: str, crawl: RunningCrawl
) -> None:
    show(page, base, "now")
    crawl.kill()
    page.wait("document.getElementById('crawl').innerText.includes('at rest')")
    crawl.start()
    page.wait("document.getElementById('crawl').innerText.includes('running')")


def test_hostile_text_is_text(page: Browser, base: str, crawl: RunningCrawl) -> None:
    """What is shown has no element that nobody of the window has made."""
    for screen in SHOWN:
        show(page, base, screen)
        assert page.run(FOREIGN) == []
        for address, rel in page.run(LINKS):
            assert address.startswith(("http://", "https://")), address
            assert address.startswith(f"{base}/") or set(rel.split()) == {"noreferrer", "noopener"}, address


def test_a_window_that_only_shows_has_no_buttons_to_steer(
    crawl: RunningCrawl, page: Browser, base: str
) -> None:
    with printed_address(crawl.data, "--read-only") as address:
        page.open(address)
        page.wait("location.pathname === '/'")
        for screen in SHOWN:
            show(page, base_of(address), screen)
            assert page.run("[...document.querySelectorAll('main form button.main, main .danger')].length") == 0
        page.asked()


def typed(page: Browser, selector: str, text: str) -> None:
    """Have a text typed into a field, as far as the page notices."""
    page.run(
        f"(() => {{ const field = document.querySelector({selector!r}); field.value = {json.dumps(text)};"
        " field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def click(page: Browser, words: str) -> None:
    """Click the button that is called so, as soon as it is there."""
    buttons = "[...document.querySelectorAll('main button')]"
    found = f"{buttons}.find((each) => each.innerText === {json.dumps(words)})"
    page.wait(f"{found} && !{found}.disabled && !{found}.hidden")
    page.run(f"{found}.click()")


def says(page: Browser, words: str) -> None:
    page.wait(f"document.querySelector('main').innerText.includes({json.dumps(words)})")


def test_a_crawl_is_steered(page: Browser, base: str, crawl: RunningCrawl) -> None:
    show(page, base, "steer")
    click(page, "Pause the crawl")
    says(page, "The crawl is paused")
    assert "paused" in crawl.told("steer", "list")
    click(page, "Go on")
    says(page, "The crawl may fetch")
    typed(page, "[name=expression]", '"gardens" or colour("x")')
    says(page, "Column 14")
    assert page.run("document.querySelector('pre.caret').innerText.split('\\n')[1]") == " " * 13 + "^"
    typed(page, "[name=expression]", '"gardens"')
    says(page, "kept pages satisfy it")
    typed(page, "[name=name]", "gardens")
    click(page, "Add the predicate")
    click(page, "Remove gardens")
    click(page, "Keep it")
    click(page, "Remove gardens")
    click(page, "Remove gardens for good")
    page.wait("![...document.querySelectorAll('main th')].some((cell) => cell.innerText === 'gardens')")
    prefix = f"http://{HOSTS[0]}/"
    typed(page, "[name=text]", prefix)
    page.wait("/ leaves out [1-9]/.test(document.querySelector('main').innerText)")
    click(page, "Exclude")
    says(page, prefix)
    assert prefix in crawl.told("steer", "list")
    click(page, f"Include {prefix}")
    says(page, "Nothing is excluded.")
    typed(page, "[name=host]", "no host/")
    typed(page, "[name=seconds]", "5")
    click(page, "Set the delay")
    says(page, "is no host")
    assert ["400" in each for each in page.complaints()] == [True]
