"""Settings from defaults, file, environment and command line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.streams.settings import ConfigurationError, Loaded, Settings, assignment, load
from tests.cases import each_case


def loaded(
    tmp_path: Path,
    file: str | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Loaded:
    if file is not None:
        (tmp_path / "scentline.toml").write_text(file, encoding="latin-1")
    return load(overrides, environ=environ or {}, cwd=tmp_path)


def complaint(tmp_path: Path, file: str | None = None, **given: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        loaded(tmp_path, file, **given)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_each_source_wins_over_the_one_before_and_predicates_are_gathered_over_all(tmp_path: Path) -> None:
    default = loaded(tmp_path, environ={"FRONTIER__BUDGET": "5", "HOME": "/"})
    assert (default.settings, set(default.origins.values())) == (Settings(), {"default"})
    file = "[frontier]\nbudget = 1\nmax_depth = 2\nqueue = 3\n"
    file += "[predicates]\nscience = 'category(\"Science\")'\nmusic = 'old'\n"
    environ = {"SCENTLINE_FRONTIER__MAX_DEPTH": "20", "SCENTLINE_FRONTIER__QUEUE": "30"}
    result = loaded(tmp_path, file, environ, {"frontier.queue": 300, "predicates.music": "new"})
    frontier = result.settings.frontier
    assert (frontier.budget, frontier.max_depth, frontier.queue, frontier.parents) == (1, 20, 300, 32)
    assert {key: result.origins[f"frontier.{key}"] for key in ("budget", "max_depth", "queue", "parents")} == {
        "budget": "scentline.toml", "max_depth": "environment SCENTLINE_FRONTIER__MAX_DEPTH",
        "queue": "command line", "parents": "default",
    }  # fmt: skip
    assert result.settings.predicates == {"science": 'category("Science")', "music": "new"}
    assert result.origins["predicates.science"] == "scentline.toml"
    assert result.values()["predicates.music"] == "new"


def test_a_named_file_takes_the_place_of_the_one_in_the_directory(tmp_path: Path) -> None:
    (tmp_path / "scentline.toml").write_text("random_seed = 1")
    other = tmp_path / "other.toml"
    other.write_text("random_seed = 2")
    result = load(config_file=other, environ={}, cwd=tmp_path)
    assert result.settings.random_seed == 2
    assert result.origins["random_seed"] == str(other)
    with pytest.raises(ConfigurationError, match=r"absent\.toml: can't be read: No such file"):
        load(config_file=tmp_path / "absent.toml", environ={}, cwd=tmp_path)


def test_the_broker_lies_in_the_data_directory_unless_it_is_given(tmp_path: Path) -> None:
    assert loaded(tmp_path, overrides={"data": tmp_path}).settings.broker == f"embedded://{tmp_path}"
    given_broker = {"data": tmp_path, "broker": "kafka://localhost:9092"}
    assert loaded(tmp_path, overrides=given_broker).settings.broker == "kafka://localhost:9092"


def test_archives_have_no_delay_unless_one_is_given_wherever_and_no_log_ins(tmp_path: Path) -> None:
    rules = {"PROXIES": "a.example = direct", "COOKIES": "file", "HEADERS": "a.example = A: b"}
    environ = {f"SCENTLINE_FETCH__{name}": value for name, value in (rules | {"DELAY_SECONDS": "3"}).items()}
    file = "[fetch]\ndelay_seconds = 1.0"
    for found, delay in (
        (loaded(tmp_path), 0.0), (loaded(tmp_path, environ=environ), 3.0), (loaded(tmp_path, file), 1.0)
    ):  # fmt: skip
        fetch = found.settings.fetch.of_archive("http://127.0.0.1:9")
        assert (fetch.delay_seconds, fetch.proxy) == (delay, "http://127.0.0.1:9")
        assert (fetch.proxies, fetch.cookies, fetch.headers) == ((), None, ())


def test_text_is_read_as_the_key_takes_it(tmp_path: Path) -> None:
    environ = {
        "SCENTLINE_FETCH__ALLOW": "localhost, 127.0.0.1",
        "SCENTLINE_FETCH__ROBOTS": "false",
        "SCENTLINE_FETCH__PROXY": "",
        "SCENTLINE_LEARN__WEIGHTS": "1,2,0.5,0",
    }
    result = loaded(tmp_path, "[fetch]\nproxy = 'http://localhost:3128'", environ).settings
    assert result.fetch.allow == ("localhost", "127.0.0.1")
    assert not result.fetch.robots
    assert result.fetch.proxy is None
    assert result.learn.weights == (1.0, 2.0, 0.5, 0.0)


#: A file, the environment and the command line, and what is said of them: the key, and what was expected.
WRONG: list[tuple[str, dict[str, str], dict[str, Any], str]] = [
    ('[frontier]\nrevisit = 0.5\ndepth = "auto"', {}, {}, 'revisit: expected 0 with depth = "auto"'),
    ('[frontier]\ncandidates = "paper"', {}, {}, "expected all with learned; paper goes with the policies"),
    ("[revisit]\nshortest_seconds = 7200\nlongest_seconds = 3600", {}, {}, "shortest_seconds: expected at"),
    (
        "[frontier]\nbudgte = 1", {}, {},
        "scentline.toml: there is no setting frontier.budgte; did you mean frontier.budget?",
    ),
    ("", {"SCENTLINE_FRONTEIR__BUDGET": "1"}, {}, "did you mean SCENTLINE_FRONTIER__BUDGET?"),
    ("", {}, {"budget": "1"}, "did you mean frontier.budget?"),
    ("", {}, {"fetch.delay": "1"}, "did you mean fetch.delay_seconds?"),
    ("frontier = 3", {}, {}, "there is no setting frontier;"),
    (
        "", {"SCENTLINE_FRONTIER__BUDGET": "many"}, {},
        "environment SCENTLINE_FRONTIER__BUDGET: frontier.budget can't be 'many': "
        "expected a valid integer, unable to parse string as an integer",
    ),
    ("[browse]\nwindow = 0", {}, {}, "expected greater than or equal to 1"),
    ("", {}, {"frontier.policy": "best"}, "'linkage', 'breadth-first' or 'random'"),
    ("[browse]\nwindow = 1", {"SCENTLINE_FETCH__ALLOW": "a"}, {"data": 3}, "command line: data can't be 3"),
    ('[predicates]\n"a b" = "x"', {}, {}, "predicates.a b"),
    (
        '[extract]\nprice = "css:a["', {}, {},
        "scentline.toml: extract.price can't be 'css:a[': expected css:SELECTOR or xpath:EXPRESSION",
    ),
    ("frontier = [", {}, {}, "scentline.toml: is not TOML in UTF-8"),
    ("\xff\xfe = 1", {}, {}, "scentline.toml: is not TOML in UTF-8"),
]  # fmt: skip


@each_case(("file", "environ", "overrides", "said"), WRONG)
def test_what_is_wrong_is_named_with_key_origin_and_what_was_expected(
    tmp_path: Path, file: str, environ: dict[str, str], overrides: dict[str, Any], said: str
) -> None:
    assert said in complaint(tmp_path, file, environ=environ, overrides=overrides)


def test_secrets_are_never_shown(tmp_path: Path) -> None:
    environ = {"SCENTLINE_OBSERVE__USER_KEY": "hush", "SCENTLINE_FETCH__PROXY": "http://me:hush@proxy:3128"}
    result = loaded(tmp_path, environ=environ)
    assert result.values()["observe.user_key"] == "set"
    assert result.values()["fetch.proxy"] == "http://proxy:3128"
    assert "hush" not in repr(result.settings.observe)
    text = complaint(tmp_path, "[observe]\nuser_key = 987654")
    assert "observe.user_key can't be the value given" in text
    assert "987654" not in text


@each_case("text", ["frontier.budget", "=1", ""])
def test_an_assignment_needs_a_key_and_a_value(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not KEY=VALUE"):
        assignment(text)


@given(key=st.text(max_size=60), value=st.text(max_size=200))
def test_whatever_is_given_loads_or_is_one_bounded_line(key: str, value: str) -> None:
    try:
        load({key: value, "frontier.budget": value}, environ={}, cwd=Path("/nonexistent"))
    except ConfigurationError as error:
        assert str(error).isprintable()
        assert len(str(error)) < 500
