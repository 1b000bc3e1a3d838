"""The figures of a site, as they are shown and written."""

from dataclasses import dataclass

from models.depth.fit import Fit, best, fit
from models.depth.site import Advice, Site
from models.depth.surfers import Surfer


@dataclass(frozen=True)
class Result:
    """A site's figures: the fits and the best of them where it has sessions, and the advice for ``share``.

    ``depth_views`` is the depth that keeps the share of the observed views, ``depth_links`` that of the surfer
    who follows links at random; None where there are none.
    """

    name: str
    site: Site
    share: float
    fits: tuple[Fit, ...]
    best: Fit | None
    depth_views: int | None
    depth_links: int | None
    advice: Advice

    def depth_of(self, found: Fit) -> int:
        """Return the depth that keeps the share of a fitted surfer's views."""
        return found.surfer.depth(found.q, self.share)


def result(name: str, site: Site, share: float) -> Result:
    """Work out a site's figures."""
    visits = site.visits
    seen = visits.sessions > 0
    return Result(
        name,
        site,
        share,
        tuple(fit(visits, surfer) for surfer in Surfer) if seen else (),
        best(visits) if seen else None,
        visits.depth(share) if seen else None,
        site.growth.depth(share) if site.growth.pages else None,
        site.advice(share),
    )
