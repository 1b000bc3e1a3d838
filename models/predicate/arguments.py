"""From what stands in quotes to a test: each reader raises ValueError that says what it expected.

Languages are ISO 639 codes of two letters, of three where there are no two.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from models.categories import expand
from models.predicate.functions import (
    Category,
    Host,
    Keyword,
    Language,
    Title,
    UrlPrefix,
    UrlRegex,
    UrlSuffix,
)
from models.predicate.syntax import Node
from models.url import canonical, host
from models.words import WORD, folded, words

_CODES = """
    ace af am an ar ary arz as az ba bcl be bg bn br bs ca crh cs cy da de dz el en eo es et eu ext fa fi fo
    fr fuv fy ga gcf gcr gd gl gom grc gu gug guw ha hbo he hi hr ht hu hy id ig is it ja jv ka kab kik kk
    km kn ko ku ky la lb lg lij ln lo lt ltg lv mg mk ml mn mr ms mt my ne nl nn no nso oc om or pa pcm pl
    ps pt qu ro ru rw sa sdh se si sk sl sn so sq sr st sv sw ta te tg th tk tl tr tt ug uk ur uz uzs vec vi
    vo wa wuu xh yo yue zh zu
"""

#: Those that the judge of languages tells apart.
LANGUAGES = frozenset(_CODES.split())


_NO_WORD = "expected a word (two letters or more, or a number of at most four digits)"
_NOT_IN_A_HOST = re.compile(r"[\s#]")


def keyword(text: str) -> Keyword:
    """Read a keyword: its words are cut and folded as a page's are."""
    found = words(text)
    if not found:
        raise ValueError(_NO_WORD)
    return Keyword(tuple(found))


def _title(text: str) -> Title:
    patterns: list[str] = []
    for part in folded(text).split():
        if "*" not in part:
            patterns += words(part)
        elif all(WORD.fullmatch(run) for run in part.split("*") if run):
            patterns.append(re.sub(r"\*+", "*", part))
        else:
            raise ValueError(f'expected nothing but letters, digits and "*" in {part!r}')
    if not patterns:
        raise ValueError(_NO_WORD)
    return Title(tuple(patterns))


def _category(text: str) -> Category:
    expand(text)
    return Category(text)


def _language(text: str) -> Language:
    if text not in LANGUAGES:
        raise ValueError('expected the ISO 639 code of a language, such as "de" or "en"')
    return Language(text)


def _host(text: str) -> Host:
    url = canonical(f"http://{text}/")
    if url is None or _NOT_IN_A_HOST.search(text) or url != f"http://{host(url)}/":
        raise ValueError('expected a host, such as "example.org" or "example.org:8080"')
    return Host(host(url))


def _url_part(text: str) -> str:
    if not text:
        raise ValueError("expected a part of a URL")
    if not text.isascii():
        raise ValueError("expected ASCII, as canonical URLs are (\u00e9 is %C3%A9 in a path)")
    return text


#: The functions of the language: name, and what makes a test of the text in the parentheses.
FUNCTIONS: Mapping[str, Callable[[str], Node]] = MappingProxyType(
    {
        "category": _category,
        "lang": _language,
        "title": _title,
        "host": _host,
        "url": lambda text: UrlRegex(_url_part(text)),
        "url.prefix": lambda text: UrlPrefix(_url_part(text)),
        "url.suffix": lambda text: UrlSuffix(_url_part(text)),
    }
)
