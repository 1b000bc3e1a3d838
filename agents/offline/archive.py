"""A web recorded in WARC files: each URL is answered as it was when it was recorded."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, TypeAlias

from scentline.agents.offline.answer import Answer, plain
from scentline.agents.offline.warc import ArchiveError, CutShortError, read, records, target_url
from scentline.models.url import canonical

#: Called with the file and the number of its records seen so far.
Progress: TypeAlias = Callable[[Path, int], None]

_PROGRESS_RECORDS = 1000

_log = logging.getLogger(__name__)


class Archive:
    """The response records of WARC files (plain, or with each record in its own gzip member), by URL.

    The files are read once to index them; ``progress`` is called every 1,000 records. Of several records of a
    URL the last one counts. A last record that is cut short is left out, with a line in `warnings`. Raises
    `ArchiveError` for a file that is no WARC or is damaged, OSError for one that can't be opened.

    A record is read when its URL is requested. Answers carry the recorded status, end-to-end headers and body;
    404 without a record, 502 for a record that can't be served.
    """

    def __init__(self, paths: Iterable[Path], progress: Progress | None = None) -> None:
        self.warnings: list[str] = []
        self._places: dict[str, tuple[int, int]] = {}
        self._paths = tuple(paths)
        self._files: list[BinaryIO] = []
        try:
            for number, path in enumerate(self._paths):
                self._files.append(path.open("rb"))
                self._index(number, progress)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._places)

    def urls(self) -> Iterator[str]:
        """Return the canonical URLs that have a record, in the order of their first records."""
        return iter(self._places)

    def answer(self, url: str, headers: Mapping[str, str]) -> Answer:
        """Return the recorded answer of ``url``; the request's ``headers`` change nothing."""
        asked = canonical(url)
        place = self._places.get(asked) if asked is not None else None
        if place is None:
            return plain(404, "no record of this URL")
        number, offset = place
        try:
            recorded, answer = read(self._paths[number], self._files[number], offset)
            if canonical(recorded) != asked:
                raise ArchiveError(
                    f"archive {self._paths[number]}, byte {offset}: found another record than when indexed"
                )
        except ArchiveError as error:
            _log.warning("%s", error)
            return plain(502, "the record of this URL can't be read")
        return answer

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _index(self, number: int, progress: Progress | None) -> None:
        path = self._paths[number]
        try:
            for seen, (offset, record) in enumerate(records(path, self._files[number]), 1):
                if record.rec_type == "response":
                    self._keep(target_url(record), number, offset)
                if progress is not None and seen % _PROGRESS_RECORDS == 0:
                    progress(path, seen)
        except CutShortError as error:
            self.warnings.append(f"{error}; the file is cut short there, and this record is left out")

    def _keep(self, target: str, number: int, offset: int) -> None:
        url = canonical(target)
        if url is not None:
            self._places[url] = (number, offset)
