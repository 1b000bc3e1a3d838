"""Log-ins go where they belong and nowhere else, each host by its own proxy."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from scentline.agents.fetch.client import Client
from scentline.agents.fetch.logins import Logins
from scentline.agents.fetch.result import Body
from scentline.models.by_host import header, route
from scentline.models.facts import Missing, Moved
from scentline.models.settings import FetchSettings
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.transport.journal import Journal
from tests.agents.commands import scentline
from tests.agents.loopback import awaited, failed, fixed, serving, settings, untimed
from tests.agents.test_privacy import LOUD, holding, records
from tests.cases import each_case
from tests.e2e.crawls import each
from tests.webs.serving import Exchange
from tests.webs.serving import serving as site_of

HEAD = "# Netscape HTTP Cookie File\n"
LATER = 4_000_000_000


def cookies(path: Path, *lines: str) -> Path:
    """Write a file of cookies: domain, whether hosts below get it, path, Secure, expiry, name and value."""
    path.write_text(HEAD + "".join("\t".join(line.split(" ")) + "\n" for line in lines))
    return path


@each_case(("line", "url", "sent"))
def test_a_cookie_goes_to_the_urls_that_it_matches(tmp_path: Path, line: str, url: str, sent: bool) -> None:
    file = cookies(tmp_path / "file", line, f"valid.example FALSE / TRUE {LATER} other x")
    assert Logins(FetchSettings(cookies=file)).headers(url) == ({"Cookie": "name=value"} if sent else {})


def test_cookies_and_headers_of_a_url_come_together_and_a_header_has_a_scheme(tmp_path: Path) -> None:
    lines = (f".a.example TRUE / FALSE {LATER} a 1", "x.a.example FALSE /in FALSE 0 b 2")
    rules = ("x.a.example = X-Key: 0", "x.a.example = X-Key: k=1", "http://x.a.example = X-Key: 2",
             "https://x.a.example:444 = Key: 3")  # fmt: skip
    file = cookies(tmp_path / "file", *lines)
    logins = Logins(FetchSettings(cookies=file, headers=tuple(map(SecretStr, rules))))
    assert logins.headers("https://x.a.example/in/") == {"Cookie": "b=2; a=1", "X-Key": "k=1"}
    assert logins.headers("http://x.a.example/") == {"Cookie": "a=1", "X-Key": "2"}
    assert logins.headers("https://x.a.example:444/") == {"Cookie": "a=1", "Key": "3"}
    assert logins.headers("https://a.example/in/") == {"Cookie": "a=1"}
    assert logins.headers("https://example/") == logins.headers("https://xa.example/") == {}


@each_case(("lines", "why"))
def test_a_file_that_can_t_be_used_is_named_and_not_quoted(
    tmp_path: Path, lines: list[str], why: str, recwarn: pytest.WarningsRecorder
) -> None:
    file = tmp_path / ("file" if lines else "none")
    (tmp_path / "file").write_text("\n".join([*lines, ""]))
    with pytest.raises(ConfigurationError, match=f"fetch.cookies {file}: {why}") as said:
        Logins(FetchSettings(cookies=file))
    assert "hush" not in str(said.value) and not recwarn.list


@given(st.one_of(st.text(), st.from_regex(r"[a-z]+\.example ?= ?[!-~]+:? ?.*\n?", fullmatch=True)))
def test_a_rule_is_read_or_refused_without_quoting_it(rule: str) -> None:
    for read in (header, route):
        try:
            found = read(rule)
        except ValueError as error:
            assert str(error).startswith("expected HOST = ")
        else:
            assert all(part is None or part.isprintable() for part in found)


@each_case(("kind", "rule"))
def test_a_rule_for_no_host_or_of_what_is_the_crawlers_is_refused(kind: str, rule: str) -> None:
    with pytest.raises(ValueError, match=f"expected HOST = {kind}"):
        {"NAME": header, "PROXY": route}[kind](rule)


# requests


@awaited
async def test_robots_txt_and_pages_get_a_hosts_log_in_and_where_a_redirect_leads_gets_none() -> None:
    async with serving(fixed(b"x")) as other:
        moved = fixed(b"", "302 X", location=other.origin + "/", set_cookie="mine=1")
        async with serving(moved) as server:
            given = {"headers": (f"{server.origin} = Authorization: hush",), "languages": "de, en;q=0.5"}
            async with Client(settings(robots=True, **given), lambda: 0.0) as client:
                results = [(await client.fetch(server.origin + "/")).result for _ in range(2)]
                assert isinstance(moved_to := results[1], Moved)
                assert isinstance((await client.fetch(moved_to.target)).result, Body)
    assert server.targets() == ["/robots.txt", "/", "/"]
    assert {request.headers["authorization"] for request in server.requests} == {"hush"}
    assert {request.headers["accept-language"] for request in server.requests} == {"de, en;q=0.5"}
    assert other.targets() == ["/", "/robots.txt", "/"]
    assert not any({"authorization", "cookie"} & {*each.headers} for each in other.requests)
    assert not any("cookie" in each.headers for each in server.requests)


@awaited
async def test_each_host_goes_by_its_proxy_which_gets_no_log_in_and_one_without_is_guarded() -> None:
    async with serving(fixed(b"first")) as first, serving(fixed(b"second")) as second:
        rules = ("direct.b.example = direct", f"b.example = {second.origin}", "127.0.0.1 = direct")
        log_in = ("a.example = Authorization: hush",)
        routed = settings(proxy=first.origin, proxies=rules, allow=(), headers=log_in)
        async with Client(routed, lambda: 0.0) as client:
            for url, body in (("http://a.example/", b"first"), ("http://www.b.example/", b"second")):
                result = (await client.fetch(url)).result
                assert isinstance(result, Body) and result.body == body
            # The proxy itself is no host that may be asked.
            for proxy in (first, second):
                refused = failed("refused", "address 127.0.0.1")
                assert untimed(await client.fetch(proxy.origin + "/")) == refused
            result = (await client.fetch("http://direct.b.example/")).result
            assert isinstance(result, Missing) and result.reason == "dns"
            await client.fetch("https://a.example/")
    assert (first.targets(), second.connections) == (["http://a.example/", "a.example:443"], 1)
    assert not any("hush" in str(request.headers) for request in first.requests)


# a crawl


COOKIE, BEARER, LOGIN = "c00k1eOfMine", "b34rerOfMine", "l0g1nOfProxy"


def test_log_ins_are_in_no_topic_table_file_output_or_log_line(tmp_path: Path) -> None:
    async def answer(exchange: Exchange) -> None:
        assert COOKIE in exchange.headers.get("cookie", "") and BEARER in exchange.headers["authorization"]
        number = int(exchange.path.strip("/") or 0)
        exchange.page(f"Page {number} on tea", [f"/{number + 1}", f"/{number + 7}"])

    cookies(tmp_path / "cookies.txt", f"127.0.0.1 FALSE / FALSE 0 session {COOKIE}")
    with site_of(answer) as site:
        (tmp_path / "scentline.toml").write_text(
            f'[predicates]\ntea = "title(\\"tea\\")"\n[fetch]\nrobots = false\ndelay_seconds = 0\n'
            'allow = ["127.0.0.1", "b.example"]\n'
            f'cookies = "cookies.txt"\nheaders = ["{site.origin} = Authorization: Bearer {BEARER}"]\n'
            f'proxies = ["b.example = http://me:{LOGIN}@127.0.0.1:1"]\n'
        )
        seeds = each("--seed", (f"{site.origin}/", "http://b.example/"))
        commands = (
            ("crawl", *seeds, "--budget", "8", "--json"), ("config", "show"), ("config", "show", "--json"),
            ("explain", f"{site.origin}/2"), ("matches", "tea"), ("dead-letters",), ("harvest",), ("audit",),
            ("config", "show", "--set", f"fetch.proxies=b.example = ftp://me:{LOGIN}@x"),
            ("config", "show", "--set", f"fetch.headers={BEARER}"),
        )  # fmt: skip
        runs = [scentline(tmp_path, *command, **LOUD) for command in commands]
    assert [run.returncode for run in runs] == [0] * 8 + [2] * 2, [run.stderr[-500:] for run in runs]
    assert json.loads(runs[0].stdout.splitlines()[-1])["fetched"] == 8
    settings = Settings(data=tmp_path / "scentline-data")
    texts = [gzip.decompress(path.read_bytes()) for path in settings.data.glob("kept/*.gz")]
    assert any(b"GET /2 HTTP/1.1" in text for text in texts)
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        texts += [record for _, record in records(journal)]
    texts += [(run.stdout + run.stderr).encode() for run in runs]
    for secret in (COOKIE, BEARER, LOGIN):
        assert holding(settings, secret) == []
        assert not any(secret.encode() in text for text in texts)
