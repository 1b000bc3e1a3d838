"""No crawl of the open web without saying who asks."""

import pytest

from scentline.agents.fetch.client import Client
from scentline.agents.fetch.guard import check_contact, names_contact, stays_home
from scentline.agents.fetch.result import Failure, Fetched
from scentline.streams.configuration import ConfigurationError
from scentline.streams.crawl_settings import FetchSettings
from tests.agents.loopback import awaited, fixed, serving, settings
from tests.cases import each_case

ANONYMOUS = FetchSettings().user_agent


@each_case(
    "user_agent",
    [
        "Bot/1 (+https://crawler.wikipedia.org/about)",
        "Bot/1 (http://bot.crawl.internal:8080)",
        "Bot/1 (+mailto:me@crawl.internal)",
        "me.too+bot@mail.crawl.internal",
        "Bot (https://example.org/; mailto:someone@crawl.internal)",
    ],
)
def test_a_url_or_a_mail_address_is_a_contact(user_agent: str) -> None:
    assert names_contact(user_agent)
    assert not stays_home(FetchSettings(user_agent=user_agent))


@each_case(
    "user_agent",
    [
        "",
        "Bot/1",
        "Bot/1 (+https://example.org/bot)",
        "Bot/1 (+https://www.EXAMPLE.com.)",
        "Bot/1 (me@bot.example)",
        "Bot/1 (me@site.test)",
        "Bot/1 (http://localhost/)",
        "Bot/1 (https://intranet)",
        "Bot/1 (me @crawl.internal)",
        ANONYMOUS,
    ],
)
def test_no_contact_and_a_name_that_is_nobodys_are_none(user_agent: str) -> None:
    assert not names_contact(user_agent)
    assert stays_home(FetchSettings(user_agent=user_agent))


@each_case(
    ("proxy", "home"),
    [
        ("http://127.0.0.1:3128", False),
        ("http://localhost:1", False),
        ("http://[::1]:1", False),
        ("http://proxy.internal:3128", True),
        ("http://10.0.0.1:3128", True),
    ],
)
def test_only_a_proxy_on_this_machine_needs_none(proxy: str, home: bool) -> None:
    assert stays_home(FetchSettings(proxy=proxy)) is home


def test_a_crawl_of_the_open_web_without_a_contact_does_not_start() -> None:
    allowed = FetchSettings(allow=("intranet.example", "10.0.0.0/8"))
    check_contact(allowed, ["http://intranet.example/", "http://10.1.2.3:8080/a"])
    check_contact(settings(), ["https://www.wikipedia.org/"])
    with pytest.raises(ConfigurationError, match=r"fetch.user_agent: .* names no contact.*expected your URL"):
        check_contact(allowed, ["http://intranet.example/", "https://www.wikipedia.org/"])


@awaited
async def test_without_a_contact_only_the_hosts_that_are_allowed_are_asked() -> None:
    async with serving(fixed(b"x")) as server:
        alone = settings(user_agent=ANONYMOUS, allow=("localhost", "127.0.0.0/8"))
        async with Client(alone, lambda: 0.0) as client:
            for name in ("127.0.0.1", "localhost"):
                assert isinstance(await client.fetch(f"http://{name}:{server.port}/"), Fetched)
            refused = await client.fetch("http://www.wikipedia.org/")
            assert isinstance(refused, Failure)
            assert (refused.kind, refused.reason) == ("refused", "contact missing in fetch.user_agent")


@awaited
async def test_without_a_contact_no_robots_txt_is_asked_for_either() -> None:
    async with serving(fixed(b"", "301 X", location="http://127.0.0.2:1/robots.txt")) as server:
        alone = settings(user_agent=ANONYMOUS, robots=True)
        async with Client(alone, lambda: 0.0) as client:
            held = await client.fetch(server.origin + "/")
            assert isinstance(held, Failure)
            assert held.reason == "robots.txt contact missing in fetch.user_agent"
            elsewhere = await client.fetch("http://www.wikipedia.org/")
            assert isinstance(elsewhere, Failure)
            assert elsewhere.kind == "refused"
