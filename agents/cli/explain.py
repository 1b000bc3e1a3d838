"""``scentline explain`` and ``audit``: why a URL was or was not fetched, and whether the counts are right."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import Given, command
from scentline.agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from scentline.models.policy.explain import Explanation
    from scentline.models.policy.weights import Contribution


@command(
    "explain",
    "scentline explain http://example.org/",
    "scentline explain http://example.org/ --json",
    "scentline explain http://example.org/ --broker kafka://localhost:9092 --set window.workers=localhost:9464",
    takes=("data", "broker", "json"),
)
def explain(
    given: Given,
    url: Annotated[str, typer.Argument(metavar="URL", help="URL to explain.")],
    features: Annotated[int, typer.Option(min=0, help="Features to show for each predicate.")] = 12,
) -> None:
    """Print a URL's state, why it was or was not fetched, and the parts of its priority.

    The parts are features with counts, ratio and significance under the paper's policies, and inputs with
    weights under the learned policy; beside these what users say of the page, by the paper's ratios. Counts are
    current, not those at the time of the choice. A crawl that runs is asked; on Kafka its frontier workers, by
    window.workers and window.token.
    """
    from scentline.agents.operate.explaining import describe
    from scentline.agents.window.reading import Reading
    from scentline.models.url import canonical

    known_as = canonical(url)
    if known_as is None:
        raise CommandError(f"{url!r} is no http or https URL; expected one such as https://example.org/page")
    with closing(Reading(given.settings())) as reading:
        reading.refresh()
        found, settings = reading.explained(known_as), reading.settings
    if found is None:
        raise CommandError(f"{url}: the crawl in {settings.data} does not know this URL")
    if given.form == "json":
        _print_as_json(found, features)
        return
    for line in describe(found, settings.frontier.threshold):
        typer.echo(line)
    _print_linking(found)
    _print_contributions(found, features)
    _print_inputs(found, features)


def _print_linking(found: "Explanation") -> None:
    from scentline.agents.operate.explaining import verdict_in_words

    if found.linking:
        typer.echo("\nlinked from")
        rows = ((each.url, verdict_in_words(each.verdict), " ".join(each.inside)) for each in found.linking)
        print_table(("page", "verdict", "words in the link"), rows)


def _print_contributions(found: "Explanation", features: int) -> None:
    for predicate, entries in found.contributions.items():
        if predicate not in found.inputs:
            typer.echo(f"\n{predicate}: {len(entries)} features known")
            _print_ratios(entries[:features], "log, if it counts")


def _print_ratios(entries: Sequence["Contribution"], log: str) -> None:
    rows = (
        (
            each.feature, str(each.pages), str(each.hits), f"{each.ratio:.2f}", f"{each.significance:.1f}",
            f"{each.log:+.2f}" if each.log else "-",
        )
        for each in entries
    )  # fmt: skip
    print_table(("feature", "pages", "hits", "ratio", "significance", log), rows)


def _print_inputs(found: "Explanation", features: int) -> None:
    from scentline.models.policy.inputs import PLAIN

    for predicate, parts in found.inputs.items():
        typer.echo(f"\n{_promise(found, predicate)}")
        rows = (
            (
                each.name, f"{each.value:+.2f}", f"{each.weight:+.2f}", f"{each.deviation:.2f}",
                f"{each.adds:+.2f}", PLAIN[each.name].name,
            )
            for each in parts[:features]
        )  # fmt: skip
        print_table(("input", "value", "weight", "+-", "adds", "which is"), rows)
        if words := found.words.get(predicate, [])[:features]:
            typer.echo()
            counts = (
                (each.word, each.where, str(each.pages), str(each.hits), f"{each.adds:+.2f}") for each in words
            )
            print_table(("word", "where", "pages", "hits", "adds"), counts)
        if ratios := found.contributions.get(predicate, []):
            typer.echo(f"\n{predicate}: {len(ratios)} features of users known, by the paper's ratios")
            _print_ratios(ratios[:features], "log, as collaborative has it")


def _promise(found: "Explanation", predicate: str) -> str:
    """Return what a request promises: a hit or, for the predicate of failed requests, a page."""
    if predicate in found.expected:
        named = found.named[predicate]
        forward = f"; put forward by {named:.2f}, as a link or its URL has keywords" if named else ""
        return (
            f"{predicate}: a hit with probability {found.expected[predicate]:.3f}, where a page comes{forward}"
        )
    return f"a page comes with probability {found.comes:.3f}; what makes it fail:"


def _print_as_json(found: "Explanation", features: int) -> None:
    of_row = (
        "url", "state", "reason", "depth", "seed", "visits", "links", "verdict", "attempts", "found", "choice",
    )  # fmt: skip
    of_found = ("beyond", "standing_back", "linking", "priorities", "expected", "named", "comes", "belief")
    row, hub, again = found.row, found.hub, found.again
    shown: dict[str, object] = {name: getattr(row, name) for name in of_row}
    shown |= {name: getattr(found, name) for name in of_found}
    shown["level"] = None if row.place is None else row.place.level
    shown["excluded"] = None if found.excluded is None else found.excluded.name
    shown["hub"] = None if hub is None else {
        "visits": hub.visits, "links": hub.links, "visited": hub.visited,
        "links_an_hour": hub.rate.mean * 3600, "failures": hub.failures, "moved": hub.moved,
    }  # fmt: skip
    shown["again"] = None if again is None else {
        "visits": again.visit.history.visits, "changes": again.visit.history.changes,
        "visited": again.visit.visited, "due": again.due, "expected_seconds": 1 / again.rate,
        "signs": again.visit.signs, "failures": again.visit.failures,
    }  # fmt: skip
    lists: dict[str, Mapping[str, Sequence[object]]] = {
        "features": found.contributions, "inputs": found.inputs, "words": found.words,
    }  # fmt: skip
    for key, by_predicate in lists.items():
        shown[key] = {name: entries[:features] for name, entries in by_predicate.items()}
    print_json(_as_objects(shown))


def _as_objects(value: Any) -> Any:
    """Return a value for JSON, with structs as objects of their fields."""
    import msgspec

    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    if isinstance(value, list):
        return [_as_objects(each) for each in value]
    return {key: _as_objects(each) for key, each in value.items()} if isinstance(value, dict) else value


@command("audit", "scentline audit --data scentline-data --json", takes=("data", "json"))
def audit(given: Given) -> None:
    """Recount every statistic from the outcomes and accesses, and compare it with the state; only reads.

    Exits with status 1 if anything differs, or where messages wait that the state does not have yet: in a crawl
    that is running, or was stopped and not continued to its end. One that keeps up has no end: with --requests
    1 and --set frontier.revisit=0.5 in place of --keep-up it takes in what waits, and ends.
    """
    from scentline.agents.operate.audit import audit as run

    settings = given.settings()
    report = run(settings)
    for example in report.examples:
        typer.echo(example, err=True)
    if report.forgotten:
        typer.echo(
            f"{report.forgotten} rare features were forgotten to save memory: except for the base, links and "
            "regions, only kept features are compared",
            err=True,
        )
    if report.quarantined:
        typer.echo(
            f"{report.quarantined} messages and facts were quarantined (scentline dead-letters): the recount "
            f"leaves them out, except for {report.uncounted} whose effect is unknown",
            err=True,
        )
    if report.behind:
        typer.echo(
            f"nothing was compared: {report.behind:,} messages are not absorbed yet; let the crawl go on to "
            "its end first",
            err=True,
        )
    compared = (
        f"{report.judged} pages judged, {report.judged_twice} counted twice, {report.lost} lost; "
        f"{report.rows} rows compared, {report.differences} differ"
    )
    given.report(report.as_dict(), *([] if report.behind else [compared]))
    if not report.clean:
        raise typer.Exit(1)
