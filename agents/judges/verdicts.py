"""What the predicates say of a page, with categories and language asked for where one needs them."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from agents.judges.categories import CategoryJudge, CategoryJudgeError, united
from agents.judges.language import Language
from agents.predicates import Predicates
from models.page import Page
from models.predicate import Predicate, View
from models.verdict import Verdict

#: Tells the language of a page, None where its text does not tell.
LanguageJudge = Callable[[Page], str | None]


class Judgement(NamedTuple):
    """A verdict; where a judge of categories failed, why, and nothing of the predicates that ask for one."""

    verdict: Verdict
    failure: str | None = None


class Verdicts:
    """Checks pages against the active predicates."""

    def __init__(self, predicates: Predicates, judges: Sequence[CategoryJudge] = ()) -> None:
        self.predicates = predicates
        self._judges = judges
        self._language: LanguageJudge = Language()

    def of(self, page: Page, names: Collection[str] | None = None) -> Judgement:
        """Return what the active predicates say of a page: all, or those of ``names``."""
        asked = self.predicates.active
        if names is not None:
            asked = {name: predicate for name, predicate in asked.items() if name in names}
        categories, failure = self._categories(page, asked.values())
        if failure is not None:
            asked = {name: predicate for name, predicate in asked.items() if not predicate.categories}
        # A page's language costs more than all else here.
        language = self._language(page) if any(each.languages for each in asked.values()) else None
        view = View(page.url, page.title, page.text, categories, language)
        return Judgement({name: predicate.evaluate(view) for name, predicate in asked.items()}, failure)

    def _categories(self, page: Page, asked: Collection[Predicate]) -> tuple[frozenset[str], str | None]:
        if not any(predicate.categories for predicate in asked):
            return frozenset(), None
        try:
            return united(self._judges, page), None
        except CategoryJudgeError as error:
            return frozenset(), str(error)
