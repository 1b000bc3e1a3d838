"""The predicate language: which pages are of interest."""

from models.predicate.errors import PredicateError
from models.predicate.predicate import Predicate, parse
from models.predicate.view import View

__all__ = ["Predicate", "PredicateError", "View", "parse"]
