"""Which pages are kept, and what is kept of them."""

from agents.judge.keep.records import packed
from models.errors import ScentlineError
from models.page import Page
from models.verdict import Verdict
from streams.records import FetchedPage


class UnkeptError(ScentlineError):
    """A page that should be kept has no form as a record; the text names the kind of error."""

    explains_itself = False


class Packing:
    """Makes the records of those pages that are kept: ``which`` is the setting `keep.pages`."""

    def __init__(self, which: str, user_agent: str) -> None:
        self._which = which
        self._user_agent = user_agent

    def record(self, fetched: FetchedPage, body: bytes, page: Page, verdict: Verdict) -> bytes:
        """Return a page's records, empty if it is not to be kept; raises `UnkeptError`."""
        if self._which == "none" or (self._which == "matches" and not any(verdict.values())):
            return b""
        try:
            return packed(fetched, body, page, verdict, self._user_agent)
        except Exception as error:  # of this page, whatever it is: the others are judged and kept
            raise UnkeptError(type(error).__name__) from error
