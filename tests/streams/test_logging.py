"""The program's log: one event a line, bounded, without identities and query strings."""

import json
import logging
import re
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.errors import PERSONAL, RESERVED, EventLog
from scentline.streams.logging import EventFormatter, configure
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


def written(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines that were written since, all to standard error."""
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def test_an_event_of_the_level_is_one_line_or_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    url = "https://example.org/a"
    configure(LogSettings())
    log.info("lease expired", url=url, attempts=2)
    [found] = written(capsys)
    assert re.fullmatch(
        rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z info frontier: lease expired url={url} attempts=2", found
    )
    for _ in range(2):
        configure(LogSettings(json_lines=True, level="warning"))
    log.debug("unseen")
    log.info("unseen")
    log.warning("lease expired", url=url, attempts=2, late=float("nan"))
    [event] = map(json.loads, written(capsys))
    assert next(iter(event)) == "time"
    del event["time"]
    assert event == {
        "level": "warning", "name": "frontier", "event": "lease expired",
        "url": url, "attempts": 2, "late": "nan",
    }  # fmt: skip


def test_other_libraries_are_heard_from_warnings_up(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(level="debug"))
    for name in ("faust.app", "mode.services", "aiokafka"):
        logging.getLogger(name).info("chatter")
        logging.getLogger(name).warning("rebalance\nof %s", "two lines")
    logging.getLogger("mode.timers").warning("late")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old way\nof doing", UserWarning, stacklevel=1)
        logging.captureWarnings(False)
    lines = written(capsys)
    assert len(lines) == 4
    assert lines[0].endswith(r"warning faust.app: rebalance\nof two lines")
    assert "warning py.warnings:" in lines[3]


@each_case("name", sorted(PERSONAL | RESERVED))
def test_a_field_that_names_a_person_or_is_the_lines_own_is_refused_at_any_level(name: str) -> None:
    with pytest.raises(ValueError, match=f"can't be named {name}"):
        EventLog("test").debug("x", **{name: "v"})


@each_case(
    ("event", "fields", "expected"),
    [
        ("x", {"url": "https://me:pw@example.org/a?q=my illness#x"}, "x url=https://example.org/a"),
        ("x", {"path": "/search?q=my illness"}, "x path=/search"),
        ("x", {"robots_url": "http://example.org?q=a"}, "x robots_url=http://example.org"),
        (
            "x", {"cause": ValueError("no answer from http://h/p?q=secret in time")},
            'x cause="no answer from http://h/p in time"',
        ),
        ("failed http://h/p?q=secret", {}, "failed http://h/p"),
        ("x", {"title": "a" * 100_000}, "x title=" + "a" * 500 + "..."),
    ],
)  # fmt: skip
def test_urls_lose_queries_and_long_values_are_cut(
    event: str, fields: dict[str, object], expected: str
) -> None:
    assert EventFormatter().format(record(event, **fields)).partition(" info frontier: ")[2] == expected


def test_an_error_carries_its_traceback_on_the_same_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings())
    try:
        raise RuntimeError("at http://h/p?q=secret\nbroken")
    except RuntimeError as error:
        log.error("step failed", cause=error)
    [found] = written(capsys)
    assert "RuntimeError: at http://h/p" in found
    assert "secret" not in found.partition("RuntimeError: at")[2]


FORGED = "a\n2026-01-01T00:00:00.000Z error frontier: all lost\x1b[2J\u2028\u202e"


@example(event="x", value=FORGED)
@given(event=st.text(), value=st.text() | st.binary() | st.floats() | st.integers(-9, 9) | st.none())
def test_any_event_is_one_bounded_printable_line_in_both_forms(event: str, value: object) -> None:
    made = record(event, value=value, url=str(value))
    for formatter in (EventFormatter(), EventFormatter(json_lines=True)):
        written = formatter.format(made)
        assert written.isprintable()
        assert len(written) < 20_000
    json.loads(EventFormatter(json_lines=True).format(made), parse_constant=pytest.fail)
