"""From a message of `pages` to a page that can be judged."""

import msgspec
import zstandard

from agents.web.parse import parse
from models.page import Page
from streams.records import Decoder, FetchedPage, RecordError
from streams.settings import JudgeSettings


class PageReader:
    """Decodes, decompresses and parses; ``most`` bounds the bytes of a body, ``agent`` is our product token."""

    def __init__(self, settings: JudgeSettings, most: int, agent: str = "") -> None:
        self._settings = settings
        self._agent = agent
        self._most = most
        self._decode = Decoder[FetchedPage](FetchedPage)
        self._decompress = zstandard.ZstdDecompressor()

    def read(self, value: bytes) -> tuple[FetchedPage, bytes, Page]:
        """Return a fetched page as it came, its body and its text; raises `RecordError` for what is none."""
        fetched = self._decode(value)
        kind = fetched.headers.get("content-type")
        body = self.body(fetched)
        page = parse(fetched.order.url, body, kind, self._settings, self._agent)
        if fetched.nofollow:
            page = msgspec.structs.replace(page, links=(), follow=False)
        return fetched, body, page

    def body(self, fetched: FetchedPage) -> bytes:
        """Return a page's body; raises `RecordError` where it is too large or damaged."""
        most = self._most
        try:
            # A size that the body states is what the decompressor makes room for, whatever the limit.
            if zstandard.frame_content_size(fetched.body) > most:
                raise RecordError(f"not a FetchedPage: its body has more than {most} bytes")
            return self._decompress.decompress(fetched.body, max_output_size=most)
        except zstandard.ZstdError as error:
            raise RecordError(f"not a FetchedPage: its body can't be decompressed: {error}") from error
