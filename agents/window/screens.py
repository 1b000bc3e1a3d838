"""The screens by their names in addresses, and their views, for the browser and the terminal alike.

A screen is a function of a crawl and a query, whose fields are its parameters. A view is made once a second for
each viewer: it takes a few milliseconds, and has bounded size. What a site or a log wrote is in it as text on
one line.
"""

from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, get_type_hints

import msgspec

from scentline.agents.window.hosts import errors, hosts
from scentline.agents.window.learnt import candidates, learning
from scentline.agents.window.now import crawl, now
from scentline.agents.window.pages import page, pages
from scentline.agents.window.reading import Reading
from scentline.agents.window.steer import steer, trial
from scentline.models.errors import ScentlineError
from scentline.models.records import reason_of
from scentline.streams.logging import printable

SCREENS: Mapping[str, Callable[[Reading, Any], dict[str, Any]]] = {
    "crawl": crawl, "now": now, "hosts": hosts, "next": candidates, "pages": pages, "page": page,
    "errors": errors, "learning": learning, "steer": steer, "trial": trial,
}  # fmt: skip
#: Those that work before a crawl has begun.
_ALWAYS = ("crawl", "now", "page", "trial")
#: Most characters of a text, and the fields whose texts are bounded at their source.
SHOWN = 300
_WHOLE = frozenset({"url", "address", "text", "paragraphs", "lines"})


class UnknownScreenError(ScentlineError):
    """There is no such screen."""

    status = HTTPStatus.NOT_FOUND


class QueryError(ScentlineError):
    """A query that the screen can't answer."""


def screen(name: str, query: Mapping[str, str]) -> Callable[[Reading], dict[str, Any]]:
    """Return the maker of a screen's view, for JSON; raises `UnknownScreenError` and `QueryError`."""
    view = SCREENS.get(name)
    if view is None:
        raise UnknownScreenError(f"There is no screen {name[:40]!r}; expected one of {', '.join(SCREENS)}.")
    _, kind, *_ = get_type_hints(view).values()
    try:
        asked = msgspec.convert(dict(query), kind, strict=False)
    except msgspec.ValidationError as error:
        raise QueryError(f"{name}: {reason_of(error)}") from error
    return partial(_view, name, asked)


def _view(name: str, query: Any, reading: Reading) -> dict[str, Any]:
    reading.refresh()
    found = SCREENS[name](reading, query) if reading.begun or name in _ALWAYS else {}
    shown: dict[str, Any] = _shown(msgspec.to_builtins({**found, "begun": reading.begun}))
    return shown


def _shown(found: Any, field: str = "") -> Any:
    if isinstance(found, str):
        return found if field in _WHOLE else printable(found, SHOWN)
    if isinstance(found, dict):
        return {printable(name, SHOWN): _shown(each, name) for name, each in found.items()}
    return [_shown(each, field) for each in found] if isinstance(found, list | tuple) else found
