"""The pictures of the small experiments: the demo's, depth, news and revisits."""

from collections.abc import Mapping, Sequence
from heapq import nlargest
from itertools import accumulate
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from scentline.models.papers.depth import Surfer
from scentline.models.papers.news import History
from scentline_lab.picture import INK, Look, canvas, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scentline_lab.demo import Crawled
    from scentline_lab.depth.site import Result
    from scentline_lab.news import News


_COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by the colour-blind too (Okabe and Ito)
_BASELINE = "#8a8a8a"
#: The first pages' rates jump between 0 and 1 and would hide the rest.
_SKIPPED = 20


def draw_demo(path: Path, expressions: Mapping[str, str], crawls: "Mapping[str, Crawled]") -> None:
    """Write a PNG with a panel for each predicate of ``expressions``; the baseline's crawl is the first."""
    figure = canvas(4 * len(expressions) + 0.5, 4.4)
    panels = figure.subplots(1, len(expressions), sharex=True, sharey=True, squeeze=False)[0]
    for number, (name, expression) in enumerate(expressions.items()):
        panel, colour = panels[number], _COLOURS[number % len(_COLOURS)]
        panel.set_title(f"{name}\n", color=colour, fontsize=14, fontweight="bold", loc="left")
        panel.text(0, 1.03, expression, transform=panel.transAxes, fontsize=8.5, color=INK, family="monospace")
        # The learned one lies below, and is named above.
        for (policy, crawled), height, shade in zip(
            reversed(list(crawls.items())), (0.985, 0.915), (colour, _BASELINE), strict=True
        ):
            rates = crawled.rates(name)
            skipped = min(_SKIPPED, len(rates) // 10)
            panel.plot(range(1, len(rates) + 1)[skipped:], rates[skipped:], color=shade, linewidth=2.2)
            _note(panel, height, f"{policy} {crawled.rate(name):.0%}", shade)
        frame(panel)
        panel.margins(x=0.02)
    panels[0].set_ylabel("harvest rate of all pages so far", color=INK)
    # Room above the highest line for the notes, which so can't lie on one.
    panels[0].set_ylim(0, 1.25 * panels[0].get_ylim()[1])
    figure.supxlabel("pages fetched", fontsize=10, color=INK)
    figure.savefig(path, format="png")


def _note(panel: "Axes", height: float, text: str, colour: str) -> None:
    panel.text(
        1,
        height,
        text,
        transform=panel.transAxes,
        ha="right",
        va="top",
        color=colour,
        fontweight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )


#: Levels that a picture shows at least and at most, and the share of the views that it shows if it can.
_LEAST, _MOST, _SHOWN = 6, 16, 0.995
#: Characters of a title's line above one panel.
_TITLE = 60
_OBSERVED, _NEW, _SURFER, _RANKED, _LIMIT = "#b9cde6", "#bfe0dd", "#12a5a0", "#7f8f2a", "#d81e3f"
_FITTED = {Surfer.B: "#0b4ea2", Surfer.C: "#e08a00"}


def draw_site(path: Path, found: "Result") -> None:
    """Write a PNG of a site; raises ValueError for one of which nothing is known."""
    pictures = [
        *([(_draw_shares, "upper right"), (_draw_reached, "lower right")] if found.fits else []),
        *([(_draw_links, "center right")] if found.site.growth.pages else []),
    ]
    figure = canvas(5.2 * len(pictures) + 0.6, 4.6)
    levels = range(_levels_shown(found))
    panels = figure.subplots(1, len(pictures), squeeze=False)[0]
    for panel, (picture, place) in zip(panels, pictures, strict=True):
        picture(panel, found, levels)
        panel.set_xlabel("links from the start page", color=INK)
        panel.set_xticks(levels)
        panel.set_xlim(-0.6, len(levels) - 0.4)
        frame(panel)
        # Where each kind of panel has least to show.
        panel.legend(loc=place, framealpha=0.9, edgecolor="none", fontsize=9, labelcolor=INK)
    depth = "unknown" if found.advice.depth is None else str(found.advice.depth)
    title = fill(f"{found.name}: depth {depth}; {found.advice.why}", _TITLE * len(pictures))
    figure.suptitle(title, x=0.01, ha="left", color=INK, fontsize=11, fontweight="bold", parse_math=False)
    figure.savefig(path, format="png")


def _levels_shown(found: "Result") -> int:
    """Return how many levels to show: those of nearly all views, and of nearly all that surfers see."""
    reached = found.site.visits.reached()
    surfed = accumulate(found.site.growth.surfer(_MOST))
    needed = (
        next((level + 1 for level, share in enumerate(shares) if share >= _SHOWN), _LEAST)
        for shares in (reached, surfed)
    )
    return min(_MOST, max(_LEAST, *needed))


def _draw_shares(panel: "Axes", found: "Result", levels: range) -> None:
    visits = found.site.visits
    shares = [views / visits.total for views in visits.views]
    panel.bar(levels, _first(shares, levels), color=_OBSERVED, label="observed")
    for fit in found.fits:
        if fit.surfer in _FITTED:
            fitted = [fit.surfer.share(fit.q, level) for level in levels]
            panel.plot(levels, fitted, color=_FITTED[fit.surfer], marker="o", label=_named(found, fit.surfer))
    panel.set_title("page views on a level", loc="left", color=INK, fontsize=10.5)


def _draw_reached(panel: "Axes", found: "Result", levels: range) -> None:
    reached = found.site.visits.reached()
    panel.bar(levels, _first(reached, levels, 1.0), color=_OBSERVED, label="observed")
    for fit in found.fits:
        if fit.surfer in _FITTED:
            fitted = [fit.surfer.reached(fit.q, level) for level in levels]
            label = f"error {fit.error:.1%}"
            panel.plot(levels, fitted, color=_FITTED[fit.surfer], marker="o", label=label)
    _limit(panel, found)
    panel.set_title("page views on all levels up to it", loc="left", color=INK, fontsize=10.5)


def _draw_links(panel: "Axes", found: "Result", levels: range) -> None:
    growth = found.site.growth
    links = [new + seen for new, seen in zip(growth.new, growth.seen, strict=True)]
    ratios = [new / all_links if all_links else 0.0 for new, all_links in zip(growth.new, links, strict=True)]
    panel.bar(levels, _first(ratios, levels), color=_NEW, label="links to new URLs")
    reached = list(accumulate(growth.surfer(len(levels))))
    panel.plot(levels, reached, color=_SURFER, marker="o", label="surfer at random, up to the level")
    ranked = _first(list(accumulate(found.site.ranks)), levels, 1.0)
    panel.plot(levels, ranked, color=_RANKED, marker=".", label="PageRank, up to the level")
    _limit(panel, found)
    panel.set_title("new URLs against seen ones", loc="left", color=INK, fontsize=10.5)


def _limit(panel: "Axes", found: "Result") -> None:
    panel.axhline(found.share, color=_LIMIT, linewidth=1, linestyle="--", label=f"{found.share:.0%}")
    panel.set_ylim(0, 1.02)


def _named(found: "Result", surfer: Surfer) -> str:
    """Name the fit of a surfer; A is B to the levels, with another q."""
    q = {fit.surfer: fit.q for fit in found.fits}
    if surfer is Surfer.C:
        return f"C, q = {q[Surfer.C]:.2f}"
    return f"A, q = {q[Surfer.A]:.2f}; B, q = {q[Surfer.B]:.2f}"


def _first(values: Sequence[float], levels: range, rest: float = 0.0) -> list[float]:
    return [values[level] if level < len(values) else rest for level in levels]


_NEWS, _OTHER = "#d81e3f", "#0b4ea2"
_SHADES = (1.0, 0.65, 0.4)
#: Characters of a URL that a legend has room for; pages of each kind that are drawn.
_URL, _DRAWN = 60, 3
_BINS = 40


def draw_daily(path: Path, news: "News", since: object) -> None:
    """Write a PNG of the daily clicks of the news most clicked in their first days, and of some others."""
    (first, last), typical = news.days, _typical(news)
    from matplotlib.ticker import MaxNLocator

    figure = canvas(13, 5.4)
    panels = figure.subplots(1, 2, squeeze=False)[0]
    for panel, histories, colour, title in (
        (panels[0], typical[0], _NEWS, "Taken for news"),
        (panels[1], typical[1], _OTHER, "Taken for others"),
    ):
        for (url, history), shade in zip(histories.items(), _SHADES, strict=False):
            clicks = [*history.clicks, *[0] * (last + 1 - history.first - len(history.clicks))]
            panel.plot(
                range(history.first - first, last - first + 1),
                clicks,
                color=colour,
                alpha=shade,
                linewidth=2,
                label=_short(url),
            )
        _panel(panel, title, "clicks a day", bool(histories))
        panel.set_xlim(0, max(1, last - first))
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.set_xlabel(f"days since {since}", color=INK)
    figure.savefig(path, format="png")


def _typical(news: "News") -> list[dict[str, History]]:
    """Return the news most clicked in their first days beyond an even share, and the others most clicked."""
    found: dict[bool, list[tuple[float, str]]] = {True: [], False: []}
    for url, page in news.judged.items():
        is_news = url in news.pages
        found[is_news].append((page.average * (page.concentration - 1 if is_news else 1), url))
    return [{url: news.histories[url] for _, url in nlargest(_DRAWN, each)} for each in found.values()]


def draw_concentration(path: Path, news: "News", labels: Mapping[str, bool] | None, threshold: float) -> None:
    """Write a PNG of how many news pages, and how many others, by label if there are any, have which
    concentration.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    is_news, title = {url: url in news.pages for url in news.judged}, "Pages by what they are taken for"
    if labels is not None:
        is_news, title = {url: labels[url] for url in news.judged if url in labels}, "Pages by their label"
    kinds = {
        name: [news.standings[url].concentration for url, found in is_news.items() if found == wanted]
        for name, wanted in (("news", True), ("others", False))
    }
    figure = canvas(9, 5)
    panel = figure.subplots()
    values = [value for found in kinds.values() for value in found if value > 0]
    low, high = min(values, default=0.1), max(values, default=10.0) * 1.001
    ratio = (high / low) ** (1 / _BINS)
    edges = [low * ratio**place for place in range(_BINS + 1)]
    for (name, found), colour in zip(kinds.items(), (_NEWS, _OTHER), strict=True):
        panel.hist(found, bins=edges, color=colour, alpha=0.55, label=f"{name} ({len(found):,})")
    panel.axvline(threshold, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    panel.annotate(
        f" threshold {threshold:g}", xy=(threshold, 1), xycoords=("data", "axes fraction"), va="top", color=INK
    )
    panel.set_xscale("log")
    panel.set_xlabel("concentration of clicks in the first days of life; 1 is even", color=INK)
    _panel(panel, title, "pages", bool(values))
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_locator(NullLocator())
    figure.savefig(path, format="png")


def _panel(panel: "Axes", title: str, label: str, filled: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    frame(panel)
    panel.yaxis.set_major_formatter("{x:,.0f}")
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_ylim(0, None if filled else 1)
    panel.set_ylabel(label, color=INK)
    panel.set_title(title, loc="left", color=INK, fontsize=13, fontweight="bold")
    if filled:
        panel.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.13), frameon=False, labelcolor=INK, fontsize=9)
    else:
        panel.text(0.5, 0.5, "none", transform=panel.transAxes, color=INK, ha="center", fontsize=11)


def _short(url: str) -> str:
    """Return a URL as a legend can show it: short, and without signs that mean mathematics to matplotlib."""
    text = url.partition("://")[2].replace("$", "%24")
    return text if len(text) <= _URL else f"{text[: _URL - 3]}..."


_LOOKS = {
    "optimum with signals": Look("#d81e3f", 1.4, (0, (5, 2))),
    "learned with signals": Look("#d81e3f", 2.4),
    "optimum": Look("#0b4ea2", 1.4, (0, (5, 2))),
    "learned": Look("#0b4ea2", 2.4),
    "StormCrawler": Look("#12a5a0", 2.0),
    "Nutch": Look("#e08a00", 2.0),
    "uniform": Look("#666b73", 1.4),
    "proportional": Look("#b4b7bc", 1.4, ":"),
}


def draw_freshness(path: Path, curves: Mapping[str, Sequence[float]], learning: int) -> None:
    """Write a PNG of curves that have a point for each visit a page; a line is where learning ends."""
    figure = canvas(9, 5.4)
    panel = figure.subplots()
    for policy, look in _LOOKS.items():
        curve = curves[policy]
        across = [part + 0.5 for part in range(len(curve))]
        panel.plot(across, curve, label=policy, **look.line)
    panel.axvline(learning, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    panel.set_xlim(0, len(next(iter(curves.values()))))
    panel.set_title("Freshness, weighed by requests", loc="left", color=INK, fontsize=13, fontweight="bold")
    panel.set_xlabel("visits a page, in the mean", color=INK)
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, labelcolor=INK, fontsize=9)
    frame(panel)
    figure.savefig(path, format="png")
