"""The predicate language: which pages are of interest."""

from scentline.models.predicate.excerpt import excerpt
from scentline.models.predicate.parser import ANYTHING, Predicate, Sought, parse
from scentline.models.predicate.syntax import PredicateError, View

#: The predicate of a crawl that has none, and its expression: every page is at an http or https URL.
EVERY_PAGE, EVERY_URL = "every-page", 'url.prefix("http")'

__all__ = [
    "ANYTHING",
    "EVERY_PAGE",
    "EVERY_URL",
    "Predicate",
    "PredicateError",
    "Sought",
    "View",
    "excerpt",
    "parse",
]
