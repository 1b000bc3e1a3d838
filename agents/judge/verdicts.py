"""What the predicates say of a page, with categories and language asked for where one needs them.

Languages are told by py3langid: Naive Bayes over byte sequences (Lui and Baldwin, ACL 2012).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from scentline.agents.judge.categories import CategoryJudge, CategoryJudgeError, united
from scentline.models.page import Page
from scentline.models.predicate import Predicate, View, excerpt
from scentline.models.verdict import Verdict

#: Characters of a page that are looked at: more make it slower, hardly better.
MOST_TEXT = 1_000
#: Letters below which a text tells too little.
LEAST_LETTERS = 20
#: Probability below which nothing is said.
LEAST_PROBABILITY = 0.2


class Language:
    """Tells the language of a page's title and text. The model is loaded when it is first asked."""

    def __init__(self) -> None:
        self._identifier: Any = None

    def __call__(self, page: Page) -> str | None:
        """Return the ISO 639 code of the language, None where the text does not tell.

        >>> from scentline.models.page import Page
        >>> Language()(Page("http://a.org/", text="Der Fuchs springt über den faulen Hund."))
        'de'
        """
        text = f"{page.title} {page.text[:MOST_TEXT]}"[:MOST_TEXT]
        if sum(map(str.isalpha, text)) < LEAST_LETTERS:
            return None
        if self._identifier is None:
            # Half a second and 60 MB, for those who ask.
            from py3langid.langid import MODEL_FILE, LanguageIdentifier

            self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        code, probability = self._identifier.classify(text)
        return str(code) if probability >= LEAST_PROBABILITY else None


#: Tells the language of a page, None where its text does not tell.
LanguageJudge = Callable[[Page], str | None]


class Judgement(NamedTuple):
    """A verdict; where a judge of categories failed, why, and nothing of the predicates that ask for one.

    ``excerpts`` tell of those that hold what they hold by, where that was asked for.
    """

    verdict: Verdict
    failure: str | None = None
    excerpts: Mapping[str, str] = MappingProxyType({})


class Verdicts:
    """Checks pages against predicates."""

    def __init__(self, judges: Sequence[CategoryJudge] = ()) -> None:
        self._judges = judges
        self._language: LanguageJudge = Language()

    def of(self, page: Page, asked: Mapping[str, Predicate], *, excerpts: bool = False) -> Judgement:
        """Return what the predicates that are asked say of a page, each by its name."""
        categories, failure = self._categories(page, asked.values())
        if failure is not None:
            asked = {name: predicate for name, predicate in asked.items() if not predicate.categories}
        # A page's language costs more than all else here.
        language = self._language(page) if any(each.languages for each in asked.values()) else None
        view = View(page.url, page.title, page.text, categories, language, page.sequence)
        verdict = {name: predicate.evaluate(view) for name, predicate in asked.items()}
        shown = [name for name, holds in verdict.items() if holds] if excerpts else ()
        return Judgement(verdict, failure, {name: excerpt(asked[name], view, page.prose) for name in shown})

    def _categories(self, page: Page, asked: Collection[Predicate]) -> tuple[frozenset[str], str | None]:
        if not any(predicate.categories for predicate in asked):
            return frozenset(), None
        try:
            return united(self._judges, page), None
        except CategoryJudgeError as error:
            return frozenset(), str(error)
