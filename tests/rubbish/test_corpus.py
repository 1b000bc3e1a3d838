"""What was ever found to hurt a reader is read for ever: no error, no hang, no memory beyond a bound."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from bench.fuzz.corpus import CORPUS, content, inputs
from bench.fuzz.targets import TARGETS
from tests.agents.commands import ROOT
from tests.cases import each_case
from tests.patience import PATIENCE

FILES = [path for reader in TARGETS for path in inputs(reader)]
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


@cache
def read() -> dict[tuple[str, str], str]:
    """Have a process read every corpus; return what went wrong, by the reader and the input's name."""
    return {(line["reader"], line["input"]): line["failure"] for line in _told("-m", "bench.fuzz", "corpus")}


def _told(*arguments: str) -> list[Any]:
    ended = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False, timeout=2 * PATIENCE
    )
    assert not ended.stderr, ended.stderr.decode(errors="replace")
    return [json.loads(line) for line in ended.stdout.splitlines()]


@each_case("path", FILES)
def test_it_is_read_or_refused(path: Path) -> None:
    assert read()[path.parent.name, path.name] == ""


@each_case("reader", TARGETS)
def test_mutations_of_the_corpus_are_read_or_refused(reader: str) -> None:
    files = {path.name for path in inputs(reader)}
    mutated = {name: failure for (of, name), failure in read().items() if of == reader and name not in files}
    assert mutated
    assert {name: failure for name, failure in mutated.items() if failure} == {}


def test_every_reader_has_a_corpus_and_every_corpus_a_reader() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)


def test_files_are_small() -> None:
    assert [path.name for path in FILES if path.stat().st_size > 50_000] == []
    assert sum(len(content(path)) for path in FILES) < 400_000_000


def test_planted_readers_that_raise_leak_hang_or_hoard_are_found() -> None:
    found = _told("-c", PLANTED)[0]
    assert found["well"] == ["", ""]
    for name, said in {
        "raises": "ValueError: b'a'",
        "leaks": "ResourceWarning",
        "hangs": "over 1 s of CPU",
        "hoards": "bytes of memory",
    }.items():
        assert said in found[name][0]
        assert found[name][1]
