"""Dates of sitemaps and feeds: both their forms, and what is none."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.dates import seconds_of
from tests.cases import each_case

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(9998, 1, 1), timezones=ZONES)


@given(MOMENTS)
def test_a_moment_comes_back_of_either_form(moment: datetime) -> None:
    assert seconds_of(moment.isoformat(timespec="seconds")) == moment.replace(microsecond=0).timestamp()
    assert seconds_of(f"\n {format_datetime(moment)} ") == moment.replace(microsecond=0).timestamp()


@each_case(
    ("text", "seconds"),
    [
        ("1970", 0),
        ("1970-01", 0),
        ("1970-01-02", 86_400),
        ("1970-01-01T00:01Z", 60),
        ("1970-01-01T00:00:01.999Z", 1),
        ("1970-01-01 01:00:00+0100", 0),
        ("1970-01-01t00:00:07", 7),
        ("Thu, 01 Jan 1970 00:00:07 GMT", 7),
        ("1 Jan 70 00:00 UT", 0),
        ("Thu, 01 Jan 1970 00:00:00 EST", 5 * 3600),
        ("Thu, 01 Jan 1970 00:00:07 -0000", 7),
    ],
)
def test_the_forms_that_sites_write_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@each_case(
    "text",
    [
        *("", " ", "now", "0", "0000", "1969-12-31", "2024-13-01", "2024-00-01", "2024-02-30", "2024-1-1"),
        *("2024-01-01T25:00Z", "2024-01-01T10:00:00+99:00", "2024-W01-1", "20240101", ", , ,"),
        *("99999999999999 Mar 2024 10:00", "Mon, 1 Mar 2024 10:00:00 +99999999", "\u0662\u0660\u0662\u0664"),
        "1" * 10_000_000,
    ],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert seconds_of(text) is None


@given(st.text(max_size=70) | st.text(alphabet="0123456789-:+TZ., MarJunGMT", max_size=40))
def test_no_text_fails(text: str) -> None:
    found = seconds_of(text)
    assert found is None or 0 <= found < datetime(9999, 12, 31, tzinfo=UTC).timestamp() + 3 * 86_400
