"""``scentline explain``: why a URL was or was not fetched."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from agents.cli.app import CommandError, app, examples
from agents.cli.options import AsJson, Assignments, ConfigFile, DataDirectory, load_settings
from agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from agents.frontier.rows import HubRow, PageRow
    from agents.operate.inspect.explain import Again, Explanation


@app.command(
    epilog=examples(
        "explain", "scentline explain http://example.org/", "scentline explain http://example.org/ --json"
    )
)
def explain(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL to explain.")],
    features: Annotated[int, typer.Option(min=0, help="Features to show for each predicate.")] = 12,
    data: DataDirectory = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Print a URL's state, why it was or was not fetched, and the parts of its priority.

    The parts are features with counts, ratio and significance under the paper's policies, and inputs with
    weights under the learned policy. Counts are current, not those at the time of the choice; a running
    crawl's may lag a little.
    """
    from agents.crawl.fixed import of_crawl
    from agents.operate.inspect.explain import explain as run
    from models.url import canonical

    settings = load_settings(config, assignments, {"data": data}).settings
    settings = of_crawl(settings)
    known_as = canonical(url)
    found = run(settings, known_as) if known_as is not None else None
    if found is None:
        raise CommandError(f"{url}: the crawl in {settings.data} does not know this URL")
    if as_json:
        _print_as_json(found, features)
        return
    for line in describe(found, settings.frontier.threshold):
        typer.echo(line)
    _print_contributions(found, features)
    _print_inputs(found, features)


def _print_contributions(found: "Explanation", features: int) -> None:
    for predicate, entries in found.contributions.items():
        typer.echo(f"\n{predicate}: {len(entries)} features known")
        print_table(
            ("feature", "pages", "hits", "ratio", "significance", "log, if it counts"),
            (
                (
                    entry.feature, str(entry.pages), str(entry.hits), f"{entry.ratio:.2f}",
                    f"{entry.significance:.1f}", f"{entry.log:+.2f}" if entry.log else "-",
                )
                for entry in entries[:features]
            ),
        )  # fmt: skip


def _print_inputs(found: "Explanation", features: int) -> None:
    for predicate, parts in found.inputs.items():
        typer.echo(f"\n{_promise(found, predicate)}")
        print_table(
            ("input", "value", "weight", "+-", "adds"),
            (
                (
                    part.name, f"{part.value:+.2f}", f"{part.weight:+.2f}", f"{part.deviation:.2f}",
                    f"{part.adds:+.2f}",
                )
                for part in parts[:features]
            ),
        )  # fmt: skip


def _promise(found: "Explanation", predicate: str) -> str:
    """Return what is expected of a request, by the inputs of a predicate, that of requests among them."""
    if predicate in found.expected:
        named = found.named[predicate]
        forward = f"; put forward by {named:.2f}, as a link or its URL has keywords" if named else ""
        return (
            f"{predicate}: a hit with probability {found.expected[predicate]:.3f}, where a page comes{forward}"
        )
    return f"a page comes with probability {found.comes:.3f}; what makes it fail:"


def describe(found: "Explanation", threshold: float) -> list[str]:
    """Return what a row says, line by line; candidates below ``threshold`` are not kept."""
    row = found.row
    lines = [row.url, f"state: {row.state}{f' ({row.reason})' if row.reason else ''}", _known_by(row)]
    if row.verdict is not None:
        lines.append(
            "verdict: " + ", ".join(f"{name} {'yes' if hit else 'no'}" for name, hit in row.verdict.items())
        )
    if found.hub is not None:
        lines.append(describe_hub(found.hub))
    if found.again is not None:
        lines.append(describe_again(found.again))
    why = _why_fetched(row) or _why_not_fetched(found, threshold)
    lines += [why] if why else []
    if found.priorities:
        now = (f"{name} {value:+.2f}" for name, value in found.priorities.items())
        lines.append(f"current priority: {', '.join(now)}")
    return lines


def _known_by(row: "PageRow") -> str:
    known = [f"in-links of {max((k for k, _ in row.links.values()), default=0)} judged pages"]
    known += [f"{row.visits} visits"] if row.visits else []
    known += ["a seed"] if row.seed else []
    known += [f"a revisit of {row.found.hub}"] if row.found is not None else []
    return (
        f"known from: {', '.join(known)}; depth {row.depth}, number {row.discovered} in the order of discovery"
    )


def _why_fetched(row: "PageRow") -> str:
    """Return why a page was chosen; empty if it was not."""
    from agents.frontier.rows import INSTANT

    choice = row.choice
    if choice is None:
        return ""
    if choice.policy == INSTANT:
        return f"fetched at once (frontier.mode): {instantly(row)}, attempt {row.attempts}"
    by = "chance" if choice.explored else f"policy {choice.policy}"
    parts = sorted(choice.parts.items(), key=lambda entry: -entry[1])
    worth = f"; worth for {', '.join(f'{name} {part:.0%}' for name, part in parts)}" if parts else ""
    return (
        f"fetched for {choice.predicate} by {by}, priority {choice.priority:.2f}, "
        f"probability {choice.probability:.3g}, attempt {row.attempts}{worth}"
    )


def _why_not_fetched(found: "Explanation", threshold: float) -> str:
    """Return why a page was not chosen; empty if its state says so."""
    row = found.row
    choosable = row.state == "candidate"
    if row.state == "trapped":
        return "not fetched: this URL looks like part of an endless space (frontier.traps)"
    if found.spent and choosable and not row.seed:
        return f"not fetched: {found.spent}"
    if found.unvisited and choosable and not row.seed:
        return f"not fetched: no visits match its pattern {found.unvisited} (frontier.visited_patterns_only)"
    if found.beyond and choosable:
        return f"not fetched: {found.beyond}"
    if max(found.priorities.values(), default=threshold) < threshold and not row.seed:
        return "not fetched: its priority is below frontier.threshold"
    other = found.standing_back or "its host could not be asked yet"
    return f"not fetched: others had a higher priority, or {other}" if choosable else ""


def instantly(row: "PageRow") -> str:
    """Return why a page was fetched before all others."""
    if row.found is None:
        return "it is a hub"
    before = row.found.time - row.found.since
    return (
        f"it is under a news prefix, and new on {row.found.hub}, which did not link to it {before:.1f} s before"
    )


def describe_hub(hub: "HubRow") -> str:
    """Return what is known of a hub."""
    visits = f"visited {hub.visits} times, which brought {hub.links} new links"
    if hub.moved:
        return f"a hub until it moved to {hub.moved}; {visits}"
    state = f", {hub.failures} failures in a row" if hub.failures else ""
    return f"a hub: {visits}; {hub.rate.mean * 3600:.2f} new links an hour expected{state}"


def describe_again(again: "Again") -> str:
    """Return what visits showed of a page, and when it is visited again."""
    visit, history = again.visit, again.visit.history
    signs = ", ".join(f"{number} by {kind}" for kind, number in sorted(visit.signs.items()))
    parts = [
        f"visited again {history.visits} times, changed {history.changes} times",
        f"a change in {in_words(1 / again.rate)} is expected",
        f"signs of a change since: {signs}" if signs else "",
        f"{visit.failures} failures in a row" if visit.failures else "",
        "said to be gone, and looked at once more" if visit.missing else "",
        f"last visit {_iso(visit.visited)}, due {_iso(again.due)}",
    ]
    return "; ".join(filter(None, parts))


def in_words(seconds: float) -> str:
    """Return a time in its largest unit.

    >>> in_words(90.0), in_words(36 * 3600)
    ('1.5 minutes', '1.5 days')
    """
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _print_as_json(found: "Explanation", features: int) -> None:
    import msgspec

    row = found.row
    print_json({
        "url": row.url,
        "state": row.state,
        "reason": row.reason,
        "depth": row.depth,
        "level": row.place.level if row.place is not None else None,
        "beyond": found.beyond,
        "standing_back": found.standing_back,
        "seed": row.seed,
        "visits": row.visits,
        "links": row.links,
        "verdict": row.verdict,
        "attempts": row.attempts,
        "found": msgspec.structs.asdict(row.found) if row.found is not None else None,
        "hub": _hub_as_json(found.hub) if found.hub is not None else None,
        "again": _again_as_json(found.again) if found.again is not None else None,
        "priorities": found.priorities,
        "choice": msgspec.structs.asdict(row.choice) if row.choice is not None else None,
        "features": {
            name: [msgspec.structs.asdict(entry) for entry in entries[:features]]
            for name, entries in found.contributions.items()
        },
        "expected": found.expected,
        "named": found.named,
        "comes": found.comes,
        "inputs": {
            name: [msgspec.structs.asdict(part) for part in parts[:features]]
            for name, parts in found.inputs.items()
        },
    })  # fmt: skip


def _again_as_json(again: "Again") -> dict[str, object]:
    history = again.visit.history
    return {
        "visits": history.visits,
        "changes": history.changes,
        "visited": again.visit.visited,
        "due": again.due,
        "expected_seconds": 1 / again.rate,
        "signs": again.visit.signs,
        "failures": again.visit.failures,
    }


def _hub_as_json(hub: "HubRow") -> dict[str, object]:
    return {
        "visits": hub.visits,
        "links": hub.links,
        "visited": hub.visited,
        "links_an_hour": hub.rate.mean * 3600,
        "failures": hub.failures,
        "moved": hub.moved,
    }
