"""What a crawl keeps of its settings, others being refused; and how the site of a log is named."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.observe.observer import base_url, site_named
from scentline.agents.operate.record import accesses
from scentline.agents.worker.directory import keep_settings, kept_settings, of_crawl
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.transport.journal import Journal
from tests.agents.commands import printed, scentline
from tests.agents.test_archive import page, write
from tests.cases import each_case

FULL: Mapping[str, Any] = {
    "frontier": {"policy": "learned", "depth": "auto", "visited_patterns_only": True},
    "learn": {"semantic": "words"},
}  # fmt: skip
PLAIN: Mapping[str, Any] = {"frontier": {"policy": "combined"}, "learn": {"semantic": ""}}


def settings_of(data: Path, given: Mapping[str, Any]) -> Settings:
    return Settings.model_validate({"data": data, **given})


def test_what_a_crawl_keeps_is_read_back_and_written_once(tmp_path: Path) -> None:
    assert kept_settings(tmp_path) is None
    given = settings_of(tmp_path, FULL)
    keep_settings(given)
    (path,) = tmp_path.iterdir()
    before = path.stat()
    keep_settings(given)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    found = of_crawl(settings_of(tmp_path, PLAIN)).frontier
    assert (found.rule, found.depth, found.visited_patterns_only) == ("learned", "auto", True)
    assert of_crawl(settings_of(tmp_path, {})).semantic == str(Path("words").absolute())


def test_each_setting_that_a_crawl_keeps_refuses_another(tmp_path: Path) -> None:
    keep_settings(settings_of(tmp_path, FULL))
    for section, name, value, said in (
        ("frontier", "policy", "combined", "with the policy learned: give one with the policy combined"),
        ("learn", "semantic", "", "give one without the word meanings of learn.semantic"),
        ("frontier", "depth", "", 'with frontier.depth = "auto": give one with frontier.depth = ""'),
        ("frontier", "visited_patterns_only", False, "give one with neither URL patterns nor revisits"),
    ):
        with pytest.raises(ConfigurationError, match=re.escape(said)):
            keep_settings(settings_of(tmp_path, {**FULL, section: {**FULL[section], name: value}}))
    keep_settings(settings_of(tmp_path, {**FULL, "learn": {"semantic": "moved\udcff"}}))
    assert of_crawl(settings_of(tmp_path, {})).semantic == str(Path("moved\udcff").absolute())
    (visited := tmp_path / "visited").mkdir()
    keep_settings(settings_of(visited, {"frontier": {"revisit": 0.5}}))
    assert of_crawl(settings_of(visited, {})).frontier.revisit > 0
    with pytest.raises(ConfigurationError, match=r"with frontier\.revisit: give one with neither"):
        keep_settings(settings_of(visited, {}))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    for content in ("", "[]", '{"policy": "learned"}'):
        (tmp_path / "crawl.json").write_text(content)
        with pytest.raises(ConfigurationError, match=r"crawl\.json: not the settings of a crawl"):
            of_crawl(settings_of(tmp_path, {}))


def test_categories_come_from_the_same_labels_as_before(tmp_path: Path) -> None:
    data, labels, moved = (tmp_path / name for name in ("data", "labels.tsv", "moved.tsv"))
    data.mkdir()
    labels.write_text("http://a.org/\tSports\n")

    def keep(**judge: str) -> None:
        keep_settings(settings_of(data, {**PLAIN, "judge": judge}))

    keep()  # no predicate of categories yet
    keep(labels=str(labels))
    labels.rename(moved)
    keep(labels=str(moved))
    keep()
    labels.write_text("http://a.org/\tMusic\n")
    with pytest.raises(
        ConfigurationError, match=r"categories by judge\.labels of SHA-256 \w{16}: give one with"
    ):
        keep(labels=str(labels))
    with pytest.raises(ConfigurationError, match=r"give one with categories by judge\.classifier of"):
        keep(classifier=str(labels))


# the site of a log is named in one way by every command that reads one


EVERY_PAGE = ("--predicate", 'all=not "unheard-of"')
PAGES = ("--archive", "pages.warc.gz")
LOG = ("--log", "access.log", *PAGES, *EVERY_PAGE)
#: The commands that read a log, and what each has to be given beside it.
COMMANDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("patterns", "depth", "news", "feed"), ("access.log",)),
    "crawl": LOG,
    "evaluate": (*LOG, *["--out", "out", "--starts", "1", "--seeds", "1", "--policy", "random", "--jobs", "1"]),
}


def line(request: str, referrer: str = "-", second: int = 0) -> str:
    return (
        f'192.0.2.7 - - [17/May/2015:10:05:{second:02} +0000] "GET {request} HTTP/1.1" 200 5 "{referrer}" "M"\n'
    )


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "access.log").write_text(line("/") + line("/a", second=1))
    home = page("http://example.org/", b'<title>home</title><a href="/a">a</a>')
    write(tmp_path / "pages.warc.gz", home, page("http://example.org/a", b"<title>a</title>words"))
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_log_of_paths_is_told_of_with_the_option_of_that_very_command(cwd: Path, command: str) -> None:
    given = COMMANDS[command]
    run = scentline(cwd, command, *given)
    said = run.stdout + run.stderr
    assert "Traceback" not in said
    assert "--site example.org" in said
    assert "--set observe.base_url" not in said
    assert "--site" in printed(cwd, command, "--help")
    named = scentline(cwd, command, *given, "--site", "example.org", "--set", "browse.window=5")
    assert named.returncode == 0, named.stderr
    assert "--site" not in named.stdout + named.stderr


def test_what_is_fed_is_of_the_site_by_the_scheme_that_is_named(cwd: Path) -> None:
    (cwd / "access.log").write_text(line("/a") + line("http://evil.test/b", second=1))
    counts = json.loads(printed(cwd, "feed", "access.log", "--site", "https://example.org", "--json"))
    assert (counts["accepted"], counts["filtered"]) == (1, {"elsewhere": 1})
    with Journal.open(cwd / "scentline-data" / "journal", read_only=True) as journal:
        assert [access.url for access in accesses(journal)] == ["https://example.org/a"]


def test_a_setting_of_the_same_site_says_more() -> None:
    site = site_named("example.org")
    assert base_url(site, "https://www.example.org:8443/") == "https://www.example.org:8443/"
    assert base_url(site, "https://example.com") == base_url(site, None) == "http://example.org"
    assert base_url(None, "https://example.com") == "https://example.com"


@each_case(
    "text",
    ["", "a b", "example.org/", "example.org?", "example.org#", "example.org\\", "me@example.org", "a.b:80x",
     "example.org:8080", "ftp://example.org", "http://", "://example.org"],
)  # fmt: skip
def test_what_is_no_host_is_no_site(text: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a host, such as example"):
        site_named(text)
