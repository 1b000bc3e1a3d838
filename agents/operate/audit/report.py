"""The audit's figures."""

from dataclasses import dataclass, field


@dataclass
class AuditReport:
    """What the audit found.

    ``judged`` pages have an outcome; ``judged_twice`` is by how many pages the counts exceed them; ``lost``
    are pages, candidates and users that the state should know of and does not. ``rows`` were compared and
    ``differences`` of them differ from the recount: ``examples`` names the first few. ``forgotten`` features
    left the bounded store and can't be compared. ``behind`` messages wait to be absorbed: a crawl that is not
    at rest differs by them. ``quarantined`` messages and facts could not be taken in;
    ``uncounted`` of these the recount can't leave out: what they would have changed shows as differences.
    """

    judged: int = 0
    judged_twice: int = 0
    lost: int = 0
    rows: int = 0
    differences: int = 0
    forgotten: int = 0
    behind: int = 0
    quarantined: int = 0
    uncounted: int = 0
    examples: list[str] = field(default_factory=list)

    def compare(self, what: str, found: object, expected: object) -> None:
        """Count one compared row."""
        self.rows += 1
        if found != expected:
            self.differences += 1
            self._note(f"{what}: the state has {found}, the recount {expected}")

    def lose(self, what: str) -> None:
        """Count one thing that the state does not know of."""
        self.lost += 1
        self._note(f"lost: {what}")

    def _note(self, text: str) -> None:
        if len(self.examples) < 10:
            self.examples.append(text)

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.judged_twice or self.lost or self.differences)

    def as_dict(self) -> dict[str, int]:
        """Return the figures for JSON."""
        return {
            "judged": self.judged,
            "judged_twice": self.judged_twice,
            "lost": self.lost,
            "rows": self.rows,
            "differences": self.differences,
            "quarantined": self.quarantined,
        }
