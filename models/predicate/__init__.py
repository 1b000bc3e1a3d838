"""The predicate language: which pages are of interest."""

from scentline.models.predicate.excerpt import excerpt
from scentline.models.predicate.predicate import Predicate, parse
from scentline.models.predicate.syntax import PredicateError, View

__all__ = ["Predicate", "PredicateError", "View", "excerpt", "parse"]
