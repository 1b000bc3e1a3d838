"""The judge of languages, py3langid: Naive Bayes over byte sequences (Lui and Baldwin, ACL 2012)."""

from typing import Any

from models.page import Page

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

        >>> from models.page import Page
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
