"""The pages of the newspaper: what is there once it was asked so many times.

Time is counted in requests, so that a crawl sees the same whatever it runs on.
"""

from dataclasses import dataclass

from tests.webs.dangers.text import document

#: Articles on the front page, the newest first.
FRONT = 5
#: Old pages that one page of the archive lists.
LISTED = 10


@dataclass(frozen=True)
class Site:
    """A front page, an archive of ``old`` pages, and a quiet page that never changes.

    It has ``first`` articles when it opens; another ``articles`` appear, each ``every`` requests after the one
    before. Articles are news and lie under /news/; the rest does not.
    """

    old: int = 30
    first: int = 3
    articles: int = 10
    every: int = 5

    def published(self, article: int) -> int:
        """Return before which request an article is published; those that were there at the opening at 0."""
        return max(0, (article - self.first + 1) * self.every)

    def there(self, requests: int) -> int:
        """Return how many articles there are."""
        return sum(self.published(article) <= requests for article in range(self.first + self.articles))

    def changed(self, path: str, requests: int) -> int | None:
        """Return before which request a page was last changed, None where there is none."""
        if path == "/":
            return self.published(self.there(requests) - 1)
        article = _number(path, "/news/")
        if article is not None:
            return self.published(article) if article < self.there(requests) else None
        page, old = _number(path, "/archive/"), _number(path, "/old/")
        known = (page is not None and page * LISTED < self.old) or (old is not None and old < self.old)
        return 0 if known or path == "/quiet" else None

    def page(self, path: str, requests: int) -> bytes:
        """Return a page that is there."""
        return document(f"Page {path}", self.links(path, requests))

    def links(self, path: str, requests: int) -> list[str]:
        """Return the links of a page."""
        if path == "/":
            newest = range(self.there(requests) - 1, -1, -1)
            return [*(f"/news/{article}" for article in newest[:FRONT]), "/archive/0", "/quiet"]
        page = _number(path, "/archive/")
        if page is None:
            return ["/"]
        listed = range(page * LISTED, min(self.old, (page + 1) * LISTED))
        further = [f"/archive/{page + 1}"] if (page + 1) * LISTED < self.old else []
        return [*(f"/old/{number}" for number in listed), *further]


def _number(path: str, folder: str) -> int | None:
    rest = path.removeprefix(folder)
    return int(rest) if rest != path and rest.isascii() and rest.isdigit() else None
