"""The index of dead letters: those that are alike together, counted as the command counts them."""

import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.cli.dead_letters import _letters
from scentline.agents.window.index.index import Index
from scentline.streams.records import DeadLetter, encode
from scentline.streams.topics import DEAD_LETTERS
from scentline.streams.transport.journal import Journal

SECRET = b"GET /?password=hunter2 jane"
LETTERS = st.builds(
    lambda topic, offset, why, reason: DeadLetter(
        topic=topic, partition=0, offset=offset, reason=reason, value=SECRET, time=float(offset), why=why
    ),
    st.sampled_from(["pages", "proxy-log"]),
    st.integers(0, 5),
    st.sampled_from(["line", "unreadable"]),
    st.sampled_from(["line 12: no URL", "line 7: no URL", "Expected `array`", "<b>\u202egod"]),
)


def bury(journal: Journal, *values: bytes, at: float = 0.0) -> None:
    journal.create_topic(DEAD_LETTERS.name, 1, retention=100.0, compacted=False)
    journal.append_all([(DEAD_LETTERS.name, 0, None, value) for value in values], at)


@given(st.lists(LETTERS), st.lists(LETTERS), st.booleans())
def test_letters_that_are_alike_are_told_together_and_nothing_of_what_they_hold(
    first: list[DeadLetter], later: list[DeadLetter], damaged: bool
) -> None:
    with (
        tempfile.TemporaryDirectory() as directory,
        Journal.open(Path(directory) / "journal") as journal,
        closing(Index(Path(directory), journal)) as index,
    ):
        for letters in (first, later):
            bury(journal, *map(encode, letters), *([b"\xc1"] if damaged else []))
            while index.step():
                pass
        expected = Counter(letter.topic for letter in _letters(journal.read(DEAD_LETTERS.name, 0, 0, 1000)))
        found = index.letters.alike()
        told: Counter[str] = Counter()
        for alike in found:
            told[alike.topic] += alike.letters
        assert told == expected
        assert index.letters.count() == expected.total()
        assert [one.letters for one in found] == sorted((one.letters for one in found), reverse=True)
        assert [one for at in range(len(found) + 1) for one in index.letters.alike(at, 1)] == found
        reasons = {(one.topic, one.why, one.reason.replace("12", "7")) for one in found}
        assert len(reasons) == len(found)
        assert all(text.isprintable() for one in found for text in (one.reason, one.topic))
        assert not any("hunter2" in str(one) for one in found)


def test_letters_that_are_not_kept_any_more_are_not_counted(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal") as journal, closing(Index(tmp_path, journal)) as index:
        for at in range(4):
            letter = DeadLetter(topic="pages", partition=0, offset=at, reason="", value=b"", time=float(at))
            bury(journal, encode(letter), at=float(at))
            journal.drop_expired(100.5 if at > 1 else 0.0)
            while index.step():
                pass
        assert index.letters.count() == 3
