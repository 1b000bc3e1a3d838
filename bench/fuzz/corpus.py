"""The corpus: what each reader has to read for ever, an input a file, named after what it showed."""

import lzma
from collections.abc import Iterator
from pathlib import Path

#: A folder for each reader.
CORPUS = Path(__file__).parents[2] / "tests" / "rubbish" / "corpus"
#: A file of megabytes that are much alike is kept compressed, by what no reader reads.
PACKED = ".xz"


def inputs(reader: str) -> list[Path]:
    """Return the files of a reader's corpus, in order."""
    return sorted(path for path in (CORPUS / reader).glob("*") if path.is_file())


def content(path: Path) -> bytes:
    """Return what a file of the corpus holds for its reader."""
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == PACKED else data


def small(reader: str, most: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the inputs of at most so many bytes: what a fuzzer begins with."""
    for path in inputs(reader):
        data = content(path)
        if len(data) <= most:
            yield path.name, data
