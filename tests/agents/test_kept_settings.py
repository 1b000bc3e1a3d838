"""What a crawl begins with is noted whole or not at all, wherever its process is killed, and only once."""

import os
import re
import sys
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from scentline.agents.crawl.directory import keep_settings, kept_settings, of_crawl
from scentline.agents.stored import write_stored
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings

FULL: Mapping[str, Any] = {
    "frontier": {"policy": "learned", "depth": "auto", "visited_patterns_only": True},
    "learn": {"semantic": "words"},
}  # fmt: skip
PLAIN: Mapping[str, Any] = {"frontier": {"policy": "combined"}, "learn": {"semantic": ""}}
#: Where what is fixed is written; what is called from there is one step.
WRITERS = (keep_settings.__code__.co_filename, write_stored.__code__.co_filename)


def settings_of(data: Path, given: Mapping[str, Any]) -> Settings:
    return Settings.model_validate({"data": data, **given})


def noted(data: Path) -> tuple[object, ...]:
    """Return what the directory says of its crawl, whatever the settings at hand are."""
    found = of_crawl(settings_of(data, {}))
    return found.frontier.rule, found.frontier.depth, found.frontier.visited_patterns_only, found.semantic


def killed_after(lines: int, settings: Settings) -> bool:
    """Note what is fixed in a process that is killed after so many lines of it; return whether it was."""
    child = os.fork()
    if child == 0:
        left = lines

        def step(frame: FrameType, event: str, _: object) -> Any:
            nonlocal left
            if frame.f_code.co_filename not in WRITERS:
                return None
            left -= event == "line"
            if left < 0:
                os._exit(9)
            return step

        sys.settrace(step)
        keep_settings(settings)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


def test_a_crawl_that_is_killed_as_it_begins_is_none_or_whole_and_what_is_noted_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    keep_settings(settings_of(kept, FULL))
    (path,) = kept.iterdir()
    before = path.stat()
    keep_settings(settings_of(kept, FULL))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    states = set()
    for lines in count():
        data = tmp_path / f"{lines}"
        data.mkdir()
        if not killed_after(lines, settings_of(data, FULL)):
            break
        states.add(held := kept_settings(data))
        if held is None:  # nothing of it stays
            keep_settings(settings_of(data, PLAIN))
            assert noted(data) == ("combined", "", False, None)
        else:
            assert noted(data) == noted(kept)
            keep_settings(settings_of(data, FULL))
    assert states == {None, kept_settings(kept)}


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
