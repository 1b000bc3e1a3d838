"""The first screen of the window in a terminal: the same view, in lines and a table."""

import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from rich import box
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import screen
from scentline.streams.logging import printable
from scentline.streams.settings import ConfigurationError, Settings

#: Seconds between two views.
LOOK_SECONDS = 1.0
#: Columns of a curve, the least width that has room for it and chance, and its characters.
_COLUMNS, _WIDE, _HEIGHTS = 24, 100, "▁▂▃▄▅▆▇█"
_STYLES = {"good": "green", "waits": "yellow", "rest": "bold", "bad": "bold red"}
#: The sign of a keyboard that is gone, and those that end the view.
_END = "\x04"
_ENDS = ("q", "Q", _END)


def run(settings: Settings, out: TextIO, *, once: bool) -> None:
    """Show a crawl until q or Ctrl-C; with ``once``, or on no terminal, print it once.

    Raises `ConfigurationError` for a crawl on Kafka.
    """
    if settings.on_kafka:
        raise ConfigurationError(
            f"broker is {settings.broker}: top reads a data directory; use scentline window, or a snapshot"
        )
    reading, console = Reading(settings), Console(file=out)
    try:
        if once or not console.is_terminal:
            console.print(shown(_view(reading), console.width))
            return
        with suppress(KeyboardInterrupt), _keys() as key, Live(console=console, screen=True) as live:
            pressed = ""
            while pressed not in _ENDS:
                live.update(shown(_view(reading), console.width), refresh=True)
                pressed = key(LOOK_SECONDS)
    finally:
        reading.close()


def _view(reading: Reading) -> dict[str, Any]:
    return screen("now", {})(reading) | {"data": str(reading.data)}


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Yield a function that waits so many seconds for a key, and returns it, if any."""
    if not sys.stdin.isatty():
        yield _no_key
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield _key
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _key(seconds: float) -> str:
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return sys.stdin.read(1) or _END if ready else ""


def _no_key(seconds: float) -> str:
    time.sleep(seconds)
    return ""


# what is shown


def shown(view: dict[str, Any], width: int) -> RenderableType:
    """Render a view at a width in characters."""
    state = view["state"]
    word = (f"{state['word']}. ", _STYLES[state["mood"]])
    head = Text.assemble((printable(view["data"]), "bold"), "  ", word, state["text"])
    if not view["begun"]:
        return head
    figures = Columns([Text(line) for line in _figures(view["figures"])], padding=(0, 3))
    more = view["total"] - len(view["predicates"])
    rest = [Text(f"{more:,} predicates more: scentline harvest tells of all.")] if more else []
    door = [Text(view["door"])] if view["door"] else []
    return Group(head, *door, Text(), figures, Text(), _predicates(view, width), *rest)


def _figures(found: dict[str, Any]) -> list[str]:
    left = f"{found['left']:,} left" if found["left"] is not None else "no budget"
    share = f" ({found['nothing'] / found['requests']:.0%})" if found["requests"] else ""
    return [
        f"{_decimal(found['pages_a_second'])} pages/s, {_decimal(found['on_average'])} on average",
        f"{found['judged']:,} pages, {left}",
        f"{found['requests']:,} requests, {found['nothing']:,} brought nothing{share}",
        f"{_count(found['queued'])} candidates in memory on {_count(found['hosts'])} hosts",
        f"{found['ready']:,} hosts may be asked, {sum(found['waiting'].values()):,} wait",
        f"{found['in_flight']:,} in flight of {found['window']:,}",
        *_slots(found),
        f"{found['discovered']:,} URLs known, {found['failed']:,} failed, {found['refused']:,} refused",
    ]


def _slots(found: dict[str, Any]) -> list[str]:
    if found["slots"] is None:
        return []
    held = f", {found['held']:,} hosts: {found['held_by']}" if found["held_by"] else ""
    return [f"{found['slots']:.0%} of slots used{held}"]


def _predicates(view: dict[str, Any], width: int) -> Table:
    last, wide = f"last {view['window_pages']:,}", ("by chance", "curve") if width >= _WIDE else ()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for name in ["predicate", "hits", "a minute", "pages", "rate", last, "lift (95 %)", *wide]:
        justify: Any = "left" if name in ("predicate", "curve") else "right"
        table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis")
    for each in view["predicates"]:
        table.add_row(*_row(each, wide=bool(wide)))
    return table


def _row(found: dict[str, Any], *, wide: bool) -> list[Text]:
    name = Text(printable(found["name"]), style="dim" if found["state"] == "paused" else "bold")
    if not found["pages"]:
        return [name, Text("0"), Text("–"), Text("0")]
    chance, lift = found["chance"], found["lift"]
    cells = [
        f"{found['hits']:,}",
        _decimal(found["hits_a_minute"]),
        f"{found['pages']:,}",
        f"{found['rate']:.1%}",
        f"{found['lately']:.1%}",
        f"{lift[1]:.1f} ({lift[0]:.1f} to {lift[2]:.1f})" if lift else "–",
    ]
    if wide:
        cells += [f"{chance['rate']:.1%}" if chance else "–", sparkline(found["curve"]["lately"])]
    return [name, *map(Text, cells)]


def sparkline(values: Sequence[float]) -> str:
    """Return a curve on one line, the highest value at the top.

    >>> sparkline([0.0, 0.1, 0.35, 0.7])
    '▁▂▅█'
    """
    apart = max(1, -(-len(values) // _COLUMNS))
    found = values[::-1][::apart][::-1]
    most = max(found, default=0.0) or 1.0
    return "".join(_HEIGHTS[round(value / most * (len(_HEIGHTS) - 1))] for value in found)


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
