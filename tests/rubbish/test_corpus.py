"""What was ever found to hurt a reader is read for ever: no error, no hang, no memory beyond a bound."""

import json
import subprocess
import sys
from typing import Any

from bench.fuzz.corpus import CORPUS, inputs
from bench.fuzz.targets import TARGETS
from tests.agents.commands import ROOT
from tests.patience import PATIENCE

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


def read() -> dict[tuple[str, str], str]:
    """Have a process read every corpus; return what went wrong, by the reader and the input's name."""
    return {(line["reader"], line["input"]): line["failure"] for line in _told("-m", "bench.fuzz", "corpus")}


def _told(*arguments: str) -> list[Any]:
    ended = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False, timeout=2 * PATIENCE
    )
    assert not ended.stderr, ended.stderr.decode(errors="replace")
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_the_corpus_of_each_reader_and_mutations_of_it_are_read_or_refused() -> None:
    found = read()
    assert {key: failure for key, failure in found.items() if failure} == {}
    for reader in TARGETS:
        names = {path.name for path in inputs(reader)}
        assert names < {name for of, name in found if of == reader}


def test_every_reader_has_a_corpus_and_every_corpus_a_reader() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)


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
