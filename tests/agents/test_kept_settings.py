"""What a crawl keeps of its settings is noted once, and others are refused."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.crawl.directory import keep_settings, kept_settings, of_crawl
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings

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
    found = of_crawl(settings_of(tmp_path, PLAIN))
    assert (found.frontier.rule, found.frontier.depth, found.frontier.visited_patterns_only) == (
        "learned",
        "auto",
        True,
    )
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
