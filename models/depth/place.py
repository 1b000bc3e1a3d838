"""Where a page of a site that is being crawled lies: how many links from where the site is entered."""

from typing import Final

import msgspec

#: Links to a page that no way is known to.
FAR: Final = 2**31 - 1


class Place(msgspec.Struct, array_like=True, gc=False):
    """The ways to a page of a site, each by the number of its links within the site.

    ``entered`` is the least of those on which somebody comes from outside: 0 for a page where the site is
    entered, the level of a user's view for one that was seen in a session. ``led`` is one more than the least
    level of a fetched page of the site that links to it. ``back`` says that it turned out to be no page, or one
    like another: a link to it leads back. ``counted`` says that it was fetched, and is counted with its links.

    >>> Place(entered=2, led=5).level, Place(entered=2, led=5).new_above, Place(led=5).new_above
    (2, None, 4)
    """

    entered: int = FAR
    led: int = FAR
    back: bool = False
    counted: bool = False

    @property
    def level(self) -> int:
        """The level of the page."""
        return min(self.entered, self.led)

    @property
    def new_above(self) -> int | None:
        """The level of which a link counts as one to a new URL, as it leads here; None where none does.

        Each page of a site is new once (Baeza-Yates and Castillo 2004, section 5): by a link of the level above
        it, as in a breadth-first crawl, in whatever order pages are fetched. Of a page that is entered from
        outside nearer than by links, every link leads to what was seen.
        """
        return self.led - 1 if self.led < FAR and self.led <= self.entered and not self.back else None
