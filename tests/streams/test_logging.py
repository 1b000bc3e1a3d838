"""The program's log: one event a line, bounded, without identities and query strings."""

import json
import logging
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.streams.logging import PERSONAL, RESERVED, EventLog, JsonFormatter, TextFormatter, configure
from scentline.streams.settings import LogSettings
from tests.cases import each_case

log = EventLog("frontier")


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    names = ("scentline", "scentline.streams.transport")
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level for name in names}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in names:
        logging.getLogger(name).setLevel(levels[name])
    logging.captureWarnings(False)


def record(event: str, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("scentline.frontier", logging.INFO, "", 0, "%s", (event,), None)
    made.fields = fields
    return made


def line(event: str, **fields: object) -> str:
    return TextFormatter().format(record(event, **fields)).partition(" info frontier: ")[2]


def test_an_event_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings())
    log.info("lease expired", url="https://example.org/a", attempts=2)
    written = capsys.readouterr()
    assert written.out == ""
    time, _, rest = written.err.partition(" ")
    assert rest == "info frontier: lease expired url=https://example.org/a attempts=2\n"
    assert len(time) == len("2026-01-01T00:00:00.000Z")
    assert time.endswith("Z")


def test_an_event_is_one_json_object_by_setting(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(json_lines=True))
    log.warning("lease expired", url="https://example.org/a", attempts=2, late=float("nan"))
    event = json.loads(capsys.readouterr().err)
    assert next(iter(event)) == "time"
    del event["time"]
    assert event == {
        "level": "warning", "name": "frontier", "event": "lease expired",
        "url": "https://example.org/a", "attempts": 2, "late": "nan",
    }  # fmt: skip


def test_events_of_the_level_are_written_once_however_often_it_is_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for _ in range(2):
        configure(LogSettings(level="warning"))
    log.debug("unseen")
    log.info("unseen")
    log.warning("seen")
    assert capsys.readouterr().err.count("seen") == 1


def test_other_libraries_are_heard_from_warnings_up(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(level="debug"))
    for name in ("faust.app", "mode.services", "aiokafka"):
        logging.getLogger(name).info("chatter")
        logging.getLogger(name).warning("rebalance\nof %s", "two lines")
    logging.getLogger("mode.timers").warning("late")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith(r"warning faust.app: rebalance\nof two lines")


def test_python_warnings_are_events(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings())
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old way\nof doing", UserWarning, stacklevel=1)
        logging.captureWarnings(False)
    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert "warning py.warnings:" in written


@each_case("name", sorted(PERSONAL | RESERVED))
def test_a_field_that_names_a_person_or_is_the_lines_own_is_refused_at_any_level(name: str) -> None:
    with pytest.raises(ValueError, match=f"can't be named {name}"):
        EventLog("test").debug("x", **{name: "v"})


def test_urls_lose_login_query_and_fragment() -> None:
    assert line("x", url="https://me:pw@example.org/a?q=my illness#x") == "x url=https://example.org/a"
    assert line("x", path="/search?q=my illness") == "x path=/search"
    assert line("x", robots_url="http://example.org?q=a") == "x robots_url=http://example.org"
    assert line("x", cause=ValueError("no answer from http://h/p?q=secret in time")) == (
        'x cause="no answer from http://h/p in time"'
    )
    assert line("failed http://h/p?q=secret") == "failed http://h/p"


def test_an_error_carries_its_traceback_on_the_same_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings())
    try:
        raise RuntimeError("at http://h/p?q=secret\nbroken")
    except RuntimeError as error:
        log.error("step failed", cause=error)
    written = capsys.readouterr().err
    assert written.count("\n") == 1
    assert "RuntimeError: at http://h/p" in written
    assert "secret" not in written.partition("RuntimeError: at")[2]


@given(event=st.text(), value=st.text() | st.binary() | st.floats() | st.integers(-9, 9) | st.none())
def test_any_event_is_one_bounded_printable_line_in_both_forms(event: str, value: object) -> None:
    made = record(event, value=value, url=str(value))
    for formatter in (TextFormatter(), JsonFormatter()):
        written = formatter.format(made)
        assert written.isprintable()
        assert len(written) < 20_000
    json.loads(JsonFormatter().format(made), parse_constant=pytest.fail)


def test_long_values_are_cut_and_a_forged_line_stays_inside_its_value() -> None:
    assert line("x", title="a" * 100_000) == "x title=" + "a" * 500 + "..."
    forged = "a\n2026-01-01T00:00:00.000Z error frontier: all lost\x1b[2J\u2028\u202e"
    assert line("x", title=forged).isprintable()
