"""What can be asked of a crawl, as JSON: each request may be carried out twice and does no harm then."""

from typing import Annotated, TypeAlias

import msgspec

from models.errors import ScentlineError
from streams.records import REMOVED, PredicateDefinition

#: URLs in one request at most, and bytes of one.
MOST_URLS = 10_000
MOST_BYTES = 4_000_000

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}\Z")]
Share = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]


class AddPredicate(msgspec.Struct, frozen=True, tag="add", forbid_unknown_fields=True):
    """Follow a predicate from now on; with ``kept`` judge the pages that are still kept by it too."""

    name: Name
    expression: str
    share: Share = 1.0
    kept: bool = False


class ChangePredicate(msgspec.Struct, frozen=True, tag="change", forbid_unknown_fields=True):
    """Give a predicate another share or another state; None leaves it as it is."""

    name: Name
    share: Share | None = None
    state: str | None = None


class Seeds(msgspec.Struct, frozen=True, tag="seeds", forbid_unknown_fields=True):
    """Start from further URLs, in canonical form."""

    urls: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_URLS)]


Request: TypeAlias = AddPredicate | ChangePredicate | Seeds


class RefusedError(ScentlineError):
    """A request that can't be carried out; the text says why."""


def defined(request: AddPredicate | ChangePredicate, known: PredicateDefinition | None) -> PredicateDefinition:
    """Return what a request makes of a predicate that is ``known`` by its name, or not.

    A name stands for one expression as long as there is a data directory, since what is counted under it can't
    be told apart later. Raises `RefusedError`.

    >>> sports = defined(AddPredicate("sports", '"ski"'), None)
    >>> defined(ChangePredicate("sports", share=3.0), sports).share
    3.0
    >>> defined(AddPredicate("sports", '"golf"'), sports)
    Traceback (most recent call last):
    ...
    agents.operate.control.requests.RefusedError: predicate sports is already "ski" here: choose another name
    """
    name = request.name
    if known is not None and known.state == REMOVED:
        raise RefusedError(f"predicate {name} was removed here: choose another name")
    if isinstance(request, AddPredicate):
        if known is not None and known.expression != request.expression:
            raise RefusedError(f"predicate {name} is already {known.expression} here: choose another name")
        made = known or PredicateDefinition(name=name, expression=request.expression)
        return msgspec.structs.replace(made, share=request.share, kept=made.kept or request.kept)
    if known is None:
        raise RefusedError(f"there is no predicate {name} here")
    return msgspec.structs.replace(
        known, share=request.share or known.share, state=request.state or known.state
    )


def checked(request: Request) -> Request:
    """Return a request whose fields are within their bounds; raises `RefusedError`, which says which is not."""
    try:
        found: Request = msgspec.convert(msgspec.to_builtins(request), Request)
    except msgspec.ValidationError as error:
        raise RefusedError(f"{error}") from error
    return found
