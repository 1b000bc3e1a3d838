"""What was ever found to hurt a reader is read for ever, within bounds; and crawls among rubbish end well."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fuzz.corpus import CORPUS, inputs, small
from bench.fuzz.messages import message
from bench.fuzz.targets import TARGETS
from scentline.streams.topics import DEAD_LETTERS
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import ROOT, printed
from tests.e2e.crawls import synthetic
from tests.kafka.test_crawl import WEB, arguments, counts
from tests.patience import PATIENCE
from tests.rubbish.crawling import SEEDS, crawl_at_random
from tests.rubbish.measured import LONGEST, TELLS_STALLS, longest_turn
from tests.rubbish.strangers import NUMBER, SECONDS, during

#: One planted reader each: it raises, leaves a file open, hangs in C, takes memory.
PLANTED = """\
import json, re, unicodedata
from bench.fuzz import limited
def leaks(data): open("/dev/null")
def raises(data): raise ValueError(data)
def hangs(data): unicodedata.normalize("NFC", "a" + "\\u0315" * 300_000 + "\\u0300" * 300_000)
def hoards(data): b"a" * (limited.MEMORY + 50_000_000)
def well(data): pass
limited.CPU_SECONDS = 1
limited.TARGETS = {f.__name__: f for f in (leaks, raises, hangs, hoards, well)}
print(json.dumps({name: limited.failures(name, [b"a", b"b"]) for name in limited.TARGETS}))
"""
#: A task that takes long by its own work, or by sleep only.
STALLING = """
import asyncio, time, unicodedata
async def sleeps(): time.sleep(0.7)
async def works():
    end = time.thread_time() + 0.6
    while time.thread_time() < end:
        unicodedata.normalize("NFC", "a" * 100)
async def main():
    await asyncio.gather(sleeps(), *[works() for _ in range({workers})])
asyncio.run(main())
"""
GOOD = [data for name, data in small("record", 10_000) if name.startswith("good-")]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=2 * PATIENCE
    )


def told(*arguments: str) -> list[Any]:
    """Return the lines of JSON that Python writes, and nothing else."""
    ended = run(*arguments)
    assert not ended.stderr, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_the_corpus_of_each_reader_and_mutations_of_it_are_read_or_refused() -> None:
    found = told("-m", "bench.fuzz", "corpus")
    assert [line for line in found if line["failure"]] == []
    for reader in TARGETS:
        names = {path.name for path in inputs(reader)}
        assert names < {line["input"] for line in found if line["reader"] == reader}
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)


PLACES = st.lists(st.tuples(st.integers(0, 9_999), st.integers(0, 255)))


@given(st.sampled_from(GOOD), PLACES, st.integers(0, 10_000))
def test_damaged_records_are_records_or_errors(whole: bytes, changed: list[tuple[int, int]], end: int) -> None:
    found = bytearray(whole)
    for place, byte in changed:
        found[place % len(found)] = byte
    message(bytes(found[:end]))


def test_planted_readers_that_raise_leak_hang_or_hoard_are_found() -> None:
    found = told("-c", PLANTED)[0]
    assert found["well"] == ["", ""]
    for name, said in {
        "raises": "ValueError: b'a'", "leaks": "ResourceWarning", "hangs": "over 1 s of CPU",
        "hoards": "bytes of memory",
    }.items():  # fmt: skip
        assert said in found[name][0]
        assert found[name][1]


def test_a_task_that_works_long_is_named_and_time_that_others_took_is_not_counted() -> None:
    for workers in (0, 1):
        seconds, what = longest_turn(run("-c", TELLS_STALLS + STALLING.format(workers=workers)).stderr)
        assert (seconds > LONGEST) == ("works" in what) == bool(workers)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_crawl_among_rubbish_ends_with_every_good_page_and_exact_counts(tmp_path: Path, seed: int) -> None:
    crawl_at_random(seed, tmp_path)


def test_a_crawl_that_strangers_write_to_counts_as_one_alone(tmp_path: Path) -> None:
    with synthetic(SyntheticWeb(*WEB)) as served:
        options = arguments(tmp_path, served.origin)
        alone = counts(tmp_path, *options, "--data", "alone")
        among = counts(tmp_path, *options, "--data", "among", first=during(NUMBER), seconds=SECONDS)
    assert among == alone
    audit = json.loads(printed(tmp_path, "audit", "--data", "among", "--json"))
    assert audit | {"quarantined": 0} == json.loads(printed(tmp_path, "audit", "--data", "alone", "--json"))
    letters = printed(tmp_path, "dead-letters", "--data", "among", "--json").splitlines()
    assert DEAD_LETTERS.most is not None
    assert min(NUMBER, DEAD_LETTERS.most) / 4 < len(letters) <= DEAD_LETTERS.most
