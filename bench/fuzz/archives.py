"""An archive, any bytes: a WARC file that a web is served from."""

import logging
import tempfile
from pathlib import Path

from agents.offline.archive import Archive
from agents.offline.warc import ArchiveError


def archive(data: bytes) -> None:
    """Read an archive and answer from its records; what is none is an `ArchiveError` of one line."""
    logging.getLogger("agents.offline.archive").disabled = True  # it names each record that can't be read
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "pages.warc")
        path.write_bytes(data)
        try:
            with Archive([path]) as found:
                for url in found.urls():
                    assert 200 <= found.answer(url, {}).status <= 599
        except ArchiveError as error:
            assert "\n" not in str(error)
