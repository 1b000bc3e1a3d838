"""No crawl of the open web without saying who asks."""

import pytest

from scentline.agents.fetch.client import Client
from scentline.agents.fetch.guard import check_contact, names_contact, stays_home
from scentline.agents.fetch.result import Body
from scentline.streams.configuration import ConfigurationError
from scentline.streams.crawl_settings import FetchSettings
from tests.agents.loopback import awaited, failed, fixed, serving, settings, untimed
from tests.cases import each_case

ANONYMOUS = FetchSettings().user_agent


@each_case(("user_agent", "named"), [(ANONYMOUS, False)])
def test_a_url_or_mail_address_is_a_contact_and_a_name_of_nobody_is_none(user_agent: str, named: bool) -> None:
    assert names_contact(user_agent) is named
    assert stays_home(FetchSettings(user_agent=user_agent)) is not named


@each_case(("proxy", "home"))
def test_only_a_proxy_on_this_machine_needs_none(proxy: str, home: bool) -> None:
    assert stays_home(FetchSettings(proxy=proxy)) is home


def test_a_crawl_of_the_open_web_without_a_contact_does_not_start() -> None:
    allowed = FetchSettings(allow=("intranet.example", "10.0.0.0/8"))
    check_contact(allowed, ["http://intranet.example/", "http://10.1.2.3:8080/a"])
    check_contact(settings(), ["https://www.wikipedia.org/"])
    with pytest.raises(ConfigurationError, match=r"fetch.user_agent: .* names no contact.*expected your URL"):
        check_contact(allowed, ["http://intranet.example/", "https://www.wikipedia.org/"])


@awaited
async def test_without_a_contact_only_the_hosts_that_are_allowed_are_asked_for_robots_txt_too() -> None:
    missing = "contact missing in fetch.user_agent"
    alone = {"user_agent": ANONYMOUS, "allow": ("localhost", "127.0.0.1")}
    async with serving(fixed(b"x")) as server, Client(settings(**alone), lambda: 0.0) as client:
        for name in ("127.0.0.1", "localhost"):
            assert isinstance((await client.fetch(f"http://{name}:{server.port}/")).result, Body)
        assert untimed(await client.fetch("http://www.wikipedia.org/")) == failed("failed", missing)
    moved = fixed(b"", "301 X", location="http://127.0.0.2:1/robots.txt")
    async with serving(moved) as server, Client(settings(robots=True, **alone), lambda: 0.0) as client:
        held = untimed(await client.fetch(server.origin + "/"))
        assert held == failed("retry", f"robots.txt {missing}", 300.0)
        assert untimed(await client.fetch("http://www.wikipedia.org/")) == failed("failed", missing)
