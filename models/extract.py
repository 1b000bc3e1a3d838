"""Fields of pages: CSS selectors (with ``::text`` and ``::attr(NAME)``) and XPath 1.0 expressions."""

from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from cssselect import GenericTranslator, HTMLTranslator, SelectorError
from cssselect.parser import FunctionalPseudoElement, Selector, parse
from lxml import etree

from scentline.models.errors import ScentlineError

#: The matches and characters of a field's value.
MOST_MATCHES, MOST_CHARACTERS = 1_000, 20_000

_EXPECTED = "expected css:SELECTOR or xpath:EXPRESSION, such as css:.price::text"
_css: GenericTranslator = HTMLTranslator()
# What evaluation raises; it finds namespaces, too, which have no text.
_FAILED = (etree.LxmlError, TypeError)
_within = etree.XPath(
    "self::script/text() | descendant::text()[not(parent::script or parent::style)]", smart_strings=False
)


class ExtractError(ScentlineError, ValueError):
    """An expression that is none; the text says what was expected."""


def compiled(expression: str) -> etree.XPath:
    """Return an expression as XPath without extension functions; raises `ExtractError`."""
    kind, _, text = expression.partition(":")
    if kind not in ("css", "xpath") or not text.strip():
        raise ExtractError(_EXPECTED)
    try:
        path = text if kind == "xpath" else " | ".join(map(_translated, parse(text)))
        found = etree.XPath(path, regexp=False, smart_strings=False)
        found(etree.Element("html"))  # an unknown function shows when it is called
    except (SelectorError, etree.XPathError, ValueError) as error:
        raise ExtractError(f"{_EXPECTED}: {error}") from error
    return found


def _translated(selector: Selector) -> str:
    path, pseudo = _css.selector_to_xpath(selector), selector.pseudo_element
    if pseudo is None:
        return path
    if pseudo == "text":
        return f"{path}/text()"
    if isinstance(pseudo, FunctionalPseudoElement) and pseudo.name == "attr" and len(pseudo.arguments) == 1:
        return f"{path}/@{pseudo.arguments[0].value}"
    raise ExtractError("of pseudo-elements there are ::text and ::attr(NAME)")


def extracted(html: str, fields: Mapping[str, etree.XPath]) -> dict[str, str]:
    r"""Return the values of named fields in HTML; a field without a match, or that fails, is absent.

    A value has a line for each match, with single spaces. Of an element that is the text within it, but for
    scripts. The tree is read without entities and network.

    >>> extracted("<p>a <b>b</b><p>c", {"all": compiled("css:p"), "bold": compiled("css:b::text")})
    {'all': 'a b\nc', 'bold': 'b'}
    """
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    values: dict[str, str] = {}
    with suppress(etree.LxmlError):
        tree = etree.fromstring(html.encode("utf-8", "replace"), parser)
        for name, path in fields.items() if tree is not None else ():
            with suppress(*_FAILED):
                found = path(tree)
                lines = map(_text, islice(found, MOST_MATCHES) if isinstance(found, list) else [found])
                if value := "\n".join(filter(None, lines))[:MOST_CHARACTERS]:
                    values[name] = value
    return values


def _text(match: Any) -> str:
    if isinstance(match, bool):
        return str(match).lower()
    if isinstance(match, float):
        return f"{match:.15g}"
    texts: Any = [match] if isinstance(match, str) else _within(match)
    return " ".join("".join(texts).split())
