"""Soft 404s: pages that say there is no page, although the server says that all is well.

Bar-Yossef, Broder, Kumar and Tomkins, Sic transit gloria telae (WWW 2004), section 3, ask the server for a page
that can't exist; here the page's own words must do, so that nobody is asked for what is not there.
"""

import re

#: Words that such a page has at most: an article on missing pages has more.
MOST_WORDS = 200
#: Characters of a page without a title that may say so.
_OPENING = 60

# Part of a title, between its separators; what several languages' servers and content systems write.
_SAYS = re.compile(
    r"(?:(?:http\s)?(?:error|fehler|erreur|errore)\s:?\s?404\b.{0,40}"
    r"|404\s?[:.!-]?\s?(?:error|fehler|not found|page not found|file not found|seite nicht gefunden)?\b.{0,20}"
    r"|(?:oops[,!.]*\s?)?(?:the |this |requested |web)*(?:page|file|document|object|url)"
    r"(?: you (?:requested|were looking for|are looking for))?"
    r" (?:was |could |can |is |has )?(?:not be|cannot be|can't be|not|no longer|does not|doesn't)"
    r" (?:found|available|exists?)\b.{0,20}"
    r"|not found|seite (?:wurde )?nicht gefunden|page (?:introuvable|non trouvée)|p[aá]gina no encontrada"
    r"|pagina non trovata|página não encontrada|pagina niet gevonden|страница не найдена)[.!]*",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"\s[|–—:·»«-]+\s|\s?[|·»«]\s?|:\s")


def says_missing(title: str, text: str) -> bool:
    """Tell whether a page of this title and text, both with single spaces, says that there is no page.

    >>> says_missing("Page not found | Example", "Try the search.")
    True
    >>> says_missing("Lost and not found: a novel", "It begins in winter.")
    False
    """
    if len(text.split(" ", MOST_WORDS)) > MOST_WORDS:
        return False
    if title:
        return any(_SAYS.fullmatch(part.strip()) for part in (title, *_SEPARATORS.split(title)))
    return _SAYS.match(text[:_OPENING]) is not None and len(text) <= 4 * _OPENING
