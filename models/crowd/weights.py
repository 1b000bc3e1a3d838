"""What a log teaches of one predicate: users, signature words and the region, ready for scoring."""

from models.crowd.affinity import user_table
from models.crowd.collaborative import CrowdEvidence, CrowdScore, crowd_score
from models.interest.features import SIGNATURE, USER, region
from models.interest.ratio import Base, Denominator
from models.interest.table import RatioTable


class CrowdWeights:
    """The collaborative half of a predicate's weights, beside `models.interest.weights.Weights`.

    ``t`` and ``denominator`` make the significance tests of users (equation 10) and of signature words.
    """

    def __init__(self, predicate: str, t: float = 2.0, denominator: Denominator = "binomial") -> None:
        self.users = user_table(t, denominator)
        self.words = RatioTable(t, denominator)
        self.region = (0, 0)
        self._region = region(predicate)

    def update(self, feature: str, pages: int, hits: int) -> None:
        """Set the counts of a feature; those of other kinds, and other predicates' regions, are passed over."""
        kind = feature[:2]
        if kind == USER:
            self.users.put(feature[2:], pages, hits)
        elif kind == SIGNATURE:
            self.words.put(feature[2:], pages, hits)
        elif feature == self._region:
            self.region = (pages, hits)

    def score(self, evidence: CrowdEvidence, base: Base) -> CrowdScore:
        """Return log I^C of a candidate, equation (14), with every ratio against ``base``."""
        if base != self.users.base:
            self.users.work_out(base)
            self.words.work_out(base)
        return crowd_score(evidence, self.users, self.words, self.region, base)
