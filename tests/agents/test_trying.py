"""A crawl is begun by a file of settings, and tried out on single pages before it runs."""

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from bench.fuzz.corpus import CORPUS, content
from scentline.agents.offline.serve import ServerProcess
from scentline.streams.settings import keys, load
from tests.agents.commands import complaint, printed, scentline, typed
from tests.agents.test_archive import page, write
from tests.test_pages import DOCS, blocks

SITE, MUGS = "http://example.org/", "http://shop.test/mugs/"
MUG = """<html><title>Blue \x1b[2J mug</title><script>document.title = "Hot"</script><h1>Mug</h1>
<p>It is blue, holds tea and is for the morning. <a href=red>Red one</a><p class=price>9.50"""
SCRIPT = "document.title = 'Green mug'; root.innerText = 'It holds tea. '.repeat(30)"
OF_EACH_USE = pytest.mark.parametrize("use", ["topic", "watch-list", "data-set", "proxy-log"])


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    html = [("Content-Type", "text/html")]
    archive = write(
        tmp_path_factory.mktemp("web") / "pages.warc.gz",
        page(SITE, b"<title>Example</title><h1>An example</h1><a href=/b>more</a>"),
        page(f"{SITE}b", b"<title>More examples</title><p>More."),
        (f"{MUGS}blue", "200 OK", html, MUG.encode()),
        (f"{MUGS}moved", "302 Found", [("Location", "blue")], b""),
        (f"{MUGS}round", "302 Found", [("Location", "again")], b""),
        (f"{MUGS}again", "302 Found", [("Location", "round")], b""),
        ("http://slow.test/robots.txt", "200 OK", html, b"User-agent: *\nCrawl-delay: 3"),
        page("http://slow.test/", b"<p>It takes a while."),
        (f"{MUGS}bare", "200 OK", html, f"<div id=root></div><script>{SCRIPT}</script>".encode()),
        ("http://closed.test/robots.txt", "200 OK", html, b"User-agent: *\nDisallow: /"),
    )
    with ServerProcess.archive([archive]) as server:
        yield server.url


def judged(cwd: Path, proxy: str, *arguments: str) -> list[dict[str, Any]]:
    """Return what is seen, as JSON."""
    run = scentline(cwd, "judge", *arguments, "--json", SCENTLINE_FETCH__PROXY=proxy)
    looks = list(map(json.loads, run.stdout.splitlines()))
    assert run.returncode == any(look["missing"] for look in looks), run.stderr
    return looks


@OF_EACH_USE
def test_a_file_of_settings_runs_as_it_stands(tmp_path: Path, proxy: str, use: str) -> None:
    (tmp_path / "access.log").write_text(
        f"1700000000.123 10 10.0.0.7 TCP_MISS/200 512 GET {SITE} - DIRECT/- text/html\n"
    )
    _, *lines = printed(tmp_path, "init", use).splitlines()
    for line in lines:
        run = typed(
            tmp_path, line.strip(), SCENTLINE_FETCH__PROXY=proxy, SCENTLINE_FETCH__DELAY_SECONDS="0",
            SCENTLINE_FRONTIER__REQUESTS="5",  # a watch list has no end
        )  # fmt: skip
        assert (run.returncode, "error" in run.stderr) == (0, False), run.stderr
    name = next(iter(load(cwd=tmp_path, environ={}).settings.predicates))
    assert SITE in printed(tmp_path, "matches", name)


@OF_EACH_USE
def test_what_a_file_has_in_comments_are_the_defaults(tmp_path: Path, use: str) -> None:
    printed(tmp_path, "init", use, "--seed", MUGS, "--contact", "me@YOUR.SITE", "--out", "mugs.toml")
    text = (tmp_path / "mugs.toml").read_text()
    assert "(+me@YOUR.SITE)" in text and 'seeds = ["http://shop.test/mugs/"]' in text
    section, shown = "", dict[str, object]()
    for line in text.splitlines():
        if line.startswith("["):
            section = f"{line[1:-1]}."
        elif (found := re.match(r"# (\w+ = .*)", line)) is not None:
            shown |= {f"{section}{name}": value for name, value in tomllib.loads(found[1]).items()}
    known = {name: field.default for name, field in keys().items() if name in shown}
    assert "fetch.delay_seconds" in shown and known == {
        name: tuple(v) if isinstance(v, list) else v for name, v in shown.items()
    }
    load(cwd=tmp_path, config_file=tmp_path / "mugs.toml", environ={})


def test_no_file_is_replaced_and_a_contact_can_be_reached(tmp_path: Path) -> None:
    (tmp_path / "scentline.toml").write_text("mine")
    assert complaint(tmp_path, "init", "topic") == "--out scentline.toml: can't be written: File exists"
    unreachable = complaint(tmp_path, "init", "topic", "--contact", "me", "--out", "other.toml")
    assert unreachable == "--contact 'me': expected a URL or an e-mail address of yours"
    assert (tmp_path / "scentline.toml").read_text() == "mine"


def test_a_page_is_seen_as_a_crawl_would_with_what_decides_its_verdict(tmp_path: Path, proxy: str) -> None:
    (tmp_path / "mug.html").write_text(MUG)
    asked = ("--predicate", 'mug=("mug" or "jug") and not ("tea" and "milk")', "--predicate", 'cold=not "tea"')
    fields = ("--set", "extract.price=css:.price", "--set", "extract.none=css:.none")
    (fetched,) = judged(tmp_path, proxy, f"{MUGS}moved", *asked, *fields)
    (read,) = judged(tmp_path, proxy, "mug.html", "--url", f"{MUGS}blue", *asked, *fields)
    assert read["seen"] == fetched["seen"] and read["url"] == fetched["url"] == f"{MUGS}blue"
    seen = fetched["seen"]
    assert seen["links"] == [[f"{MUGS}red", "Red one"]] and seen["extract"] == {"price": "9.50"}
    assert seen["verdict"] == {"mug": True, "cold": False}
    sentence = "It is blue, holds tea and is for the morning."
    assert seen["decided"] == {
        "mug": ['"mug" and not "milk"', f"Mug {sentence}"],
        "cold": ['not "tea"', sentence],
    }
    out = printed(tmp_path, "judge", "mug.html", *asked, *fields)
    assert all(sign.isprintable() for sign in out if sign not in "\n\t")
    assert "\nfield\tvalue\nprice\t9.50\nnone\t-\n" in out and f'\ncold\tno\tnot "tea"\t{sentence}\n' in out


def test_it_is_told_why_a_crawl_refuses_a_page(tmp_path: Path, proxy: str) -> None:
    (tmp_path / "ice.pdf").write_bytes(content(CORPUS / "document" / "good-pdf"))
    (tmp_path / "picture.html").write_bytes(b"\x89PNG\r\n\x1a\n")
    places = (f"{MUGS}bare", "http://closed.test/x", f"{MUGS}none", "ice.pdf", "picture.html", "none.html")
    looks = judged(tmp_path, proxy, *places, f"{MUGS}round", "--set", "fetch.delay_seconds=0")
    bare, closed, none, ice, picture, *missing = looks
    assert (bare["seen"]["barred"], bare["scripts"]) == ("needs scripts", True)
    assert [each["missing"] for each in (closed, none, *missing)] == [
        "robots.txt", "status 404", "no http or https URL, nor a file: No such file or directory",
        "over 5 redirects (fetch.redirects)",
    ]  # fmt: skip
    assert ice["seen"]["title"] == "On ice"
    assert picture["seen"]["barred"] == "not HTML or text: PNG image, served as text/html"
    assert "names no contact" in complaint(tmp_path, "judge", SITE)
    elsewhere = complaint(tmp_path, "judge", "ice.pdf", "--url", "ice")
    assert elsewhere == "--url 'ice': expected an http or https URL"


def test_a_sites_delay_is_kept(tmp_path: Path, proxy: str) -> None:
    run = scentline(tmp_path, "judge", "http://slow.test/", SCENTLINE_FETCH__PROXY=proxy)
    assert (run.returncode, run.stderr.count("waits, as the site's delay is not over")) == (0, 1)
    assert "text: It takes a while." in run.stdout


def test_a_page_is_rendered_where_settings_say_so_and_it_needs_that(tmp_path: Path, proxy: str) -> None:
    places = (f"{MUGS}bare", f"{MUGS}blue")
    for pages, title in (("where-needed", "Blue \x1b[2J mug"), ("always", "Hot")):
        bare, blue = judged(tmp_path, proxy, *places, "--set", f"render.pages={pages}")
        assert [bare["scripts"], blue["scripts"]] == [True, False]
        assert [bare["seen"]["title"], blue["seen"]["title"]] == ["Green mug", title]


# from nothing to a table of a site's fields

SHOP = "http://shop.example/"
#: Words that are read, and signs that are typed, in a minute, by people who are slow at both.
READ, TYPED = 150, 100


GLAZES = re.findall(
    r"\w+",
    "ash bay cedar dune ember fern garnet hazel iris jade kelp lilac moss nettle olive pine quartz rose sage "
    "teal umber violet willow zinc amber birch coral denim ebony flint",
)


def mug(number: int) -> bytes:
    """Return the page of a mug: those of the same words would be copies of each other."""
    first, second, third = (GLAZES[(number * step) % len(GLAZES)] for step in (1, 7, 11))
    text = f"<title>{first.title()} mug - The shop</title><a href=/>The shop</a><h1>The {first} mug</h1>"
    text += f"<img src=/{number}.jpg><p>A mug with a glaze of {first}, {second} and {third}, which holds tea."
    return f"{text}<p class=price>{number}.50 EUR<p><a href={number + 1}>The next mug</a>".encode()


def edited(settings: str, tables: str) -> str:
    """Return a file of settings with other tables for those of its own that have their names."""
    names = "|".join(map(re.escape, re.findall(r"^\[.*\]$", tables, re.MULTILINE)))
    kept = [part for part in settings.split("\n\n") if not re.search(f"^({names})$", part, re.MULTILINE)]
    return "\n\n".join([*kept, tables])


def test_a_new_user_has_a_table_of_a_sites_fields_in_ten_minutes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = b"<title>The shop</title><a href=/mugs/1>Mugs</a> <a href=/about>About us</a>"
    found = {SHOP: shop, f"{SHOP}about": b"<title>About us</title><h1>About us</h1><p>We make mugs."}
    found |= {f"{SHOP}mugs/{number}": mug(number) for number in range(1, 31)}
    kind = [("Content-Type", "text/html")]
    archive = write(tmp_path / "shop.warc.gz", *((url, "200 OK", kind, body) for url, body in found.items()))
    lines = [line for block in blocks("data-set", "sh") for line in block.splitlines() if "pip" not in line]
    (tables,), (code,) = blocks("data-set", "toml"), blocks("data-set", "python")
    told = []
    with ServerProcess.archive([archive]) as server:
        for line in lines:
            done = typed(tmp_path, line, SCENTLINE_FETCH__PROXY=server.url, SCENTLINE_FETCH__DELAY_SECONDS="0")
            assert done.returncode == 0, done.stderr
            told.append([re.split(r"\t|  +", row.rstrip("\t")) for row in done.stdout.splitlines()])
            if len(told) == 2:
                file = tmp_path / "scentline.toml"
                file.write_text(edited(file.read_text(), tables))
    with chdir(tmp_path):
        exec(code, {})
    looked, table = blocks("data-set", "text")
    assert told[1] == [re.split(r"  +", row) for row in looked.splitlines()]
    assert [row[1] for row in told[2] if row[0] in ("items", "price")] == ["yes", "7.50 EUR", "no", "-"]
    assert capsys.readouterr().out == table
    signs = sum(map(len, (*lines, tables, code)))
    assert len((DOCS / "data-set.md").read_text().split()) / READ + signs / TYPED < 10


def test_a_catalogue_that_is_closed_as_endless_is_told_with_the_setting(tmp_path: Path) -> None:
    links = "".join(f"<a href=/mugs/{n}>Mug</a> " for n in range(300))
    mugs = [page(f"{SHOP}mugs/{n}", b"<p>A mug of white clay, for %d EUR" % n) for n in range(300)]
    archive = write(tmp_path / "shop.warc.gz", page(SHOP, links.encode()), *mugs)
    asked = ("--seed", SHOP, "--predicate", 'mugs=url("/mugs/")', "--json")
    run = scentline(tmp_path, "crawl", "--archive", str(archive), *asked)
    found = json.loads(run.stdout)
    [why], left = found["closed"], found["candidates"]
    assert re.fullmatch(f"the last [0-9]+ pages like {SHOP}mugs/0 were .* [(]frontier.barren_copies[)]", why)
    assert left > 0 and f", {left} candidates left.\n" in run.stderr
    assert run.stderr.endswith(f"\none of 1 closed spaces: {why}\n")
