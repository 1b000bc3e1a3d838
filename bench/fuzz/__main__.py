"""``python -m bench.fuzz READER SECONDS``: fuzz one reader for so long.

An input that fails is written to the reader's corpus, and a line says how to see the failure again. In the
place of the seconds may stand a file that is read instead. ``python -m bench.fuzz corpus`` reads the corpus of
every reader, and mutations of it, always the same. What came of each input read is told as a line of JSON.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random

from bench.fuzz.corpus import content, inputs, small
from bench.fuzz.guided import MOST_BYTES, fuzz
from bench.fuzz.limited import failures
from bench.fuzz.mutators import MUTATORS
from bench.fuzz.targets import TARGETS

#: Mutations that are read by each reader, and by those that ask a server.
MUTATED = 400
MUTATED_ANSWERS = 40


def main() -> None:
    """Fuzz or read, as the arguments say."""
    reader, what = (*sys.argv[1:], "60")[:2]
    if reader == "corpus":
        for each in TARGETS:
            _read(each, {path.name: content(path) for path in inputs(each)})
            _read(each, dict(islice(_mutated(each), MUTATED_ANSWERS if each == "http" else MUTATED)))
    elif reader not in TARGETS:
        raise SystemExit(f"fuzz: {reader!r} is no reader; expected corpus or one of {', '.join(TARGETS)}")
    elif what.isdigit():
        raise SystemExit(fuzz(reader, int(what)))
    else:
        _read(reader, {what: content(Path(what))})


def _read(reader: str, found: Mapping[str, bytes]) -> None:
    for name, failure in zip(found, failures(reader, list(found.values())), strict=True):
        print(json.dumps({"reader": reader, "input": name, "failure": failure}))


def _mutated(reader: str) -> Iterator[tuple[str, bytes]]:
    """Yield mutations of a reader's small inputs, without an end; each is named by its bytes."""
    random = Random(reader)
    seeds = [data for _, data in small(reader, MOST_BYTES)]
    while True:
        data = MUTATORS[reader](random.choice(seeds), random)
        yield repr(data), data


if __name__ == "__main__":
    main()
