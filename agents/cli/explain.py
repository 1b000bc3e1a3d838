"""``scentline explain``: why a URL was or was not fetched."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import CommandError, app, examples
from scentline.agents.cli.options import AsJson, Assignments, ConfigFile, DataDirectory, load_settings
from scentline.agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from scentline.agents.frontier.rows import HubRow
    from scentline.agents.operate.inspect.explain import Again, Explanation
    from scentline.agents.operate.inspect.linking import Counting
    from scentline.models.interest.linkage import Contribution


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
    weights under the learned policy; beside these what users say of the page, by the paper's ratios. Counts are
    current, not those at the time of the choice; a running crawl's may lag a little.
    """
    from scentline.agents.crawl.fixed import of_crawl
    from scentline.agents.operate.inspect.explain import explain as run
    from scentline.agents.operate.inspect.in_words import describe
    from scentline.agents.operate.inspect.teaching import Taught
    from scentline.models.url import canonical
    from scentline.streams.transport.journal import Journal

    settings = of_crawl(load_settings(config, assignments, {"data": data}).settings)
    known_as = canonical(url)
    if known_as is None:
        raise CommandError(f"{url!r} is no http or https URL; expected one such as https://example.org/page")
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        teach = partial(Taught, journal, settings)
        found = run(journal, settings, known_as, teach)
    if found is None:
        raise CommandError(f"{url}: the crawl in {settings.data} does not know this URL")
    if as_json:
        _print_as_json(found, features)
        return
    for line in describe(found, settings.frontier.threshold):
        typer.echo(line)
    _print_linking(found)
    _print_contributions(found, features)
    _print_inputs(found, features)


def _print_linking(found: "Explanation") -> None:
    from scentline.agents.operate.inspect.in_words import verdict_in_words

    if found.linking:
        typer.echo("\nlinked from")
        print_table(
            ("page", "verdict", "words in the link"),
            ((each.url, verdict_in_words(each.verdict), " ".join(each.inside)) for each in found.linking),
        )


def _print_contributions(found: "Explanation", features: int) -> None:
    for predicate, entries in found.contributions.items():
        if predicate not in found.inputs:
            typer.echo(f"\n{predicate}: {len(entries)} features known")
            _print_ratios(entries[:features], "log, if it counts")


def _print_ratios(entries: Sequence["Contribution"], log: str) -> None:
    print_table(
        ("feature", "pages", "hits", "ratio", "significance", log),
        (
            (
                entry.feature, str(entry.pages), str(entry.hits), f"{entry.ratio:.2f}",
                f"{entry.significance:.1f}", f"{entry.log:+.2f}" if entry.log else "-",
            )
            for entry in entries
        ),
    )  # fmt: skip


def _print_inputs(found: "Explanation", features: int) -> None:
    from scentline.models.learner.plain import PLAIN

    for predicate, parts in found.inputs.items():
        typer.echo(f"\n{_promise(found, predicate)}")
        print_table(
            ("input", "value", "weight", "+-", "adds", "which is"),
            (
                (
                    part.name, f"{part.value:+.2f}", f"{part.weight:+.2f}", f"{part.deviation:.2f}",
                    f"{part.adds:+.2f}", PLAIN[part.name].name,
                )
                for part in parts[:features]
            ),
        )  # fmt: skip
        _print_words(found.words.get(predicate, [])[:features])
        ratios = found.contributions.get(predicate, [])
        if ratios:
            typer.echo(f"\n{predicate}: {len(ratios)} features of users known, by the paper's ratios")
            _print_ratios(ratios[:features], "log, as collaborative has it")


def _print_words(words: Sequence["Counting"]) -> None:
    if words:
        typer.echo()
        print_table(
            ("word", "where", "pages", "hits", "adds"),
            ((each.word, each.where, str(each.pages), str(each.hits), f"{each.adds:+.2f}") for each in words),
        )


def _promise(found: "Explanation", predicate: str) -> str:
    """Return what is expected of a request, by the inputs of a predicate, that of requests among them."""
    if predicate in found.expected:
        named = found.named[predicate]
        forward = f"; put forward by {named:.2f}, as a link or its URL has keywords" if named else ""
        return (
            f"{predicate}: a hit with probability {found.expected[predicate]:.3f}, where a page comes{forward}"
        )
    return f"a page comes with probability {found.comes:.3f}; what makes it fail:"


def _print_as_json(found: "Explanation", features: int) -> None:
    import msgspec

    row = found.row
    print_json({
        "url": row.url,
        "state": row.state,
        "reason": row.reason,
        "depth": row.depth,
        "level": row.place.level if row.place is not None else None,
        "excluded": found.excluded.name if found.excluded is not None else None,
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
        "linking": [msgspec.structs.asdict(each) for each in found.linking],
        "priorities": found.priorities,
        "choice": msgspec.structs.asdict(row.choice) if row.choice is not None else None,
        "features": {
            name: [msgspec.structs.asdict(entry) for entry in entries[:features]]
            for name, entries in found.contributions.items()
        },
        "expected": found.expected,
        "named": found.named,
        "comes": found.comes,
        "belief": found.belief,
        "inputs": {
            name: [msgspec.structs.asdict(part) for part in parts[:features]]
            for name, parts in found.inputs.items()
        },
        "words": {
            name: [msgspec.structs.asdict(each) for each in words[:features]]
            for name, words in found.words.items()
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
