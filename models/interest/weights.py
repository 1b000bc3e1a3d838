"""The weights of one predicate: log interest ratios worked out of a ledger, ready for scoring."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from scentline.models.crowd.evidence import crowd_table
from scentline.models.interest.factors import LinkTable, locality_log, sibling_log, token_log
from scentline.models.interest.features import BASE, SIGNATURE, TOKEN, USER, WORD, link, region
from scentline.models.interest.ratio import Base, Cell, Denominator, RatioTable
from scentline.models.ledger import Ledger
from scentline.models.reuse import Cell as Earlier
from scentline.models.reuse import whole

NOTHING: Mapping[str, Mapping[str, Earlier]] = MappingProxyType({})


class Weights:
    """What is known about one predicate's features, in logarithms.

    The counts are those of ``ledger``; who changes them says so by `learn`. What ``earlier`` crawls counted, by
    feature and predicate, is added to them. ``t`` and ``denominator`` make the significance tests (equations 6
    and 10). Each change of the base changes every ratio: those of words, tokens and users are taken anew, at
    the next use, when P(C) or 1 - P(C) (with the paper's denominator also n(C)) moved by more than ``drift``,
    relatively, since they were last taken. With ``drift=0`` they are always exact.
    """

    def __init__(
        self,
        predicate: str,
        ledger: Ledger,
        t: float = 2.0,
        denominator: Denominator = "binomial",
        drift: float = 0.02,
        earlier: Mapping[str, Mapping[str, Earlier]] = NOTHING,
    ) -> None:
        self.predicate = predicate
        self.ledger = ledger
        self._earlier = earlier
        ledger.add_predicates([predicate])
        self.t = t
        self.denominator: Denominator = denominator
        self.base = Base()
        self.links = LinkTable()
        self.region = (0, 0)
        self._drift = drift
        self._satisfying = link(predicate, True)
        self._failing = link(predicate, False)
        self._region = region(predicate)
        self._alone = {BASE, self._satisfying, self._failing, self._region}
        self._words = RatioTable(t, denominator)
        self._tokens = RatioTable(t, denominator)
        self._signatures = crowd_table(t, denominator)
        self._users = crowd_table(t, denominator)
        self._tables = {
            WORD: self._words,
            TOKEN: self._tokens,
            SIGNATURE: self._signatures,
            USER: self._users,
        }
        self._taken = Base()
        self._stale = False

    def cell(self, feature: str) -> Cell:
        """Return the pages and hits of a feature; what is taken back of what was forgotten leaves none."""
        pages, hits = self.ledger.get(feature, self.predicate)
        cell = max(0, pages), max(0, hits)
        earlier = self._earlier.get(feature)
        if earlier is None:
            return cell
        more, more_hits = whole(*earlier.get(self.predicate, (0.0, 0.0)))
        return cell[0] + more, cell[1] + more_hits

    def learn(self, features: Iterable[str]) -> None:
        """Take in that the counts of some features changed; links of other predicates are passed over."""
        alone = False
        for feature in features:
            table = self._tables.get(feature[:2])
            if table is not None:
                table.take(feature[2:], self.cell(feature))
            else:
                alone = alone or feature in self._alone
        if alone:
            self.links = LinkTable(self.cell(self._satisfying), self.cell(self._failing))
            self.region = self.cell(self._region)
            self.base = Base(*self.cell(BASE))
            self._stale = self._moved()

    def refresh(self) -> None:
        """Take the ratios of words, tokens and users anew, against the base of now."""
        cells: dict[str, dict[str, Cell]] = {kind: {} for kind in self._tables}
        for feature, *cell in self.ledger.items_of(self.predicate):
            if feature[:2] in cells:
                cells[feature[:2]][feature[2:]] = (cell[0], cell[1])
        for feature in self._earlier:
            if feature[:2] in cells:
                cells[feature[:2]][feature[2:]] = self.cell(feature)
        for kind, table in self._tables.items():
            table.work_out(self.base, cells[kind].items())
        self._taken = self.base
        self._stale = False

    def bring_up(self) -> None:
        """Take the ratios anew if the base rate has moved too far since they were last taken."""
        if self._stale:
            self.refresh()

    @property
    def words(self) -> RatioTable:
        """Words: counts, and the logs of significant ratios."""
        return self._fresh()._words

    @property
    def tokens(self) -> RatioTable:
        """URL tokens: counts, and the logs of significant ratios."""
        return self._fresh()._tokens

    @property
    def signatures(self) -> RatioTable:
        """Words of signatures: counts, and the logs of significant ratios."""
        return self._fresh()._signatures

    @property
    def users(self) -> RatioTable:
        """Users: counts, and the logs of significant ratios."""
        return self._fresh()._users

    def token_log(self, tokens_of_url: AbstractSet[str]) -> float:
        """Return log I_u(C) of a URL's tokens."""
        return token_log(tokens_of_url, self.tokens)

    def link_log(self, parents: int, satisfying: int) -> float:
        """Return log I_l(C) of k judged in-links, m of them from satisfying pages."""
        return locality_log(parents, satisfying, self.links, self.base)

    def sibling_log(self, visited: int, satisfying: int) -> float:
        """Return log I_s(C) of v visited siblings, s of them satisfying."""
        return sibling_log(visited, satisfying, self.base)

    def _fresh(self) -> "Weights":
        self.bring_up()
        return self

    def _moved(self) -> bool:
        old, new = self._taken, self.base
        if not (old.informative and new.informative):
            return old.informative != new.informative
        if self._drift == 0:
            return old != new
        nearest = min(old.rate, 1 - old.rate)
        hits_moved = self.denominator == "paper" and abs(new.hits - old.hits) > self._drift * old.hits
        return hits_moved or abs(new.rate - old.rate) > self._drift * nearest


def weights_of(
    predicate: str,
    ledger: Ledger,
    features: Iterable[str],
    t: float = 2.0,
    denominator: Denominator = "binomial",
) -> Weights:
    """Return the weights of a few features, exact, from the ledger of a crawl that keeps none.

    >>> ledger = Ledger()
    >>> for holds, times in ((True, 20), (False, 80)):
    ...     ledger.add(ledger.slots_of([BASE, "u:ann"]), {"ski": holds}, times)
    >>> weights_of("ski", ledger, [BASE, "u:bob"]).base
    Base(pages=100, hits=20)
    """
    few = Ledger()
    names = [name for name in dict.fromkeys(features) if name in ledger]
    few.put(few.slots_of(names), ledger.take(ledger.slots_of(names)))
    weights = Weights(predicate, few, t, denominator)
    weights.learn(names)
    return weights
