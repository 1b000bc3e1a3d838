"""The predicate language: which pages are of interest."""

from models.predicate.excerpt import excerpt
from models.predicate.predicate import Predicate, parse
from models.predicate.syntax import PredicateError, View

__all__ = ["Predicate", "PredicateError", "View", "excerpt", "parse"]
