"""What is known of a URL, in sentences: its state, why it was or was not fetched, when it is visited again."""

from datetime import UTC, datetime

from scentline.models.frontier.rows import INSTANT, HubRow, PageRow
from scentline.models.learner.inputs import PLAIN
from scentline.models.policy.explain import Again, Explanation
from scentline.models.published import Exclusion
from scentline.models.verdict import FAILED, Verdict


def describe(found: Explanation, threshold: float) -> list[str]:
    """Return what a row says, line by line; candidates below ``threshold`` are not kept."""
    row = found.row
    lines = [row.url, f"state: {row.state}{f' ({row.reason})' if row.reason else ''}", _known_by(row)]
    if row.verdict is not None:
        lines.append(f"verdict: {verdict_in_words(row.verdict)}")
    if found.hub is not None:
        lines.append(describe_hub(found.hub))
    if found.again is not None:
        lines.append(describe_again(found.again))
    if found.excluded is not None:
        lines.append(_describe_exclusion(found.excluded))
    why = _why_fetched(row) or _why_not_fetched(found, threshold)
    lines += [why] if why else []
    if found.priorities:
        now = (f"{name} {value:+.2f}" for name, value in found.priorities.items())
        lines.append(f"current priority: {', '.join(now)}")
    if found.inputs and row.visits:
        lines.append(_worth_of_log(found))
    if found.belief < 1:
        lines.append(
            "those who link to it kept fewer promises than others do: "
            f"{found.belief:.0%} of the probability is believed"
        )
    return lines


def _worth_of_log(found: Explanation) -> str:
    """Return what the log adds to the logit of a hit, of all that its inputs come to."""
    parts = []
    for predicate, inputs in found.inputs.items():
        if predicate != FAILED:
            of_log = sum(part.adds for part in inputs if PLAIN[part.name].source == "users")
            parts.append(f"{predicate} {of_log:+.2f} of {sum(part.adds for part in inputs):+.2f}")
    return f"what the log adds: {', '.join(parts)}"


def verdict_in_words(verdict: Verdict) -> str:
    """Return which predicates a page satisfies.

    >>> verdict_in_words({"sports": True, "music": False})
    'sports yes, music no'
    """
    return ", ".join(f"{name} {'yes' if hit else 'no'}" for name, hit in verdict.items())


def _known_by(row: PageRow) -> str:
    known = [f"in-links of {max((k for k, _ in row.links.values()), default=0)} judged pages"]
    known += [f"{row.visits} visits"] if row.visits else []
    known += ["a seed"] if row.seed else []
    known += [f"a revisit of {row.found.hub}"] if row.found is not None else []
    return (
        f"known from: {', '.join(known)}; depth {row.depth}, number {row.discovered} in the order of discovery"
    )


def _why_fetched(row: PageRow) -> str:
    """Return why a page was chosen, if it was: one that robots.txt forbids was chosen and not fetched."""
    choice = row.choice
    if choice is None:
        return ""
    if choice.policy == INSTANT:
        return f"fetched at once (frontier.mode): {instantly(row)}, attempt {row.attempts}"
    by = (
        f"chance, one choice in {1 / choice.probability:,.0f}" if choice.explored else f"policy {choice.policy}"
    )
    parts = sorted(choice.parts.items(), key=lambda entry: -entry[1])
    worth = f"; worth for {', '.join(f'{name} {part:.0%}' for name, part in parts)}" if parts else ""
    was = "fetched" if row.requests else "chosen"
    return (
        f"{was} for {choice.predicate} by {by}, priority {choice.priority:.2f}, attempt {row.attempts}{worth}"
    )


def _why_not_fetched(found: Explanation, threshold: float) -> str:
    row = found.row
    choosable = row.state == "candidate"
    if row.state == "trapped":
        return "not fetched: this URL looks like part of an endless space (frontier.traps)"
    if choosable and (why := _why_out_of_scope(found)):
        return f"not fetched: {why}"
    if max(found.priorities.values(), default=threshold) < threshold and not row.seed:
        return "not fetched: its priority is below frontier.threshold"
    other = found.standing_back or "its host could not be asked yet"
    return f"not fetched: others had a higher priority, or {other}" if choosable else ""


def _why_out_of_scope(found: Explanation) -> str:
    if found.excluded is not None:
        return "it is excluded"
    if found.spent and not found.row.seed:
        return found.spent
    if found.unvisited and not found.row.seed:
        return f"no visits match its pattern {found.unvisited} (frontier.visited_patterns_only)"
    return found.beyond


def _describe_exclusion(found: Exclusion) -> str:
    how = f"begins with {found.prefix}" if found.prefix else f"matches {found.expression}"
    return f"excluded as {found.name} (scentline steer include {found.name} undoes it): it {how}"


def instantly(row: PageRow) -> str:
    """Return why a page was fetched before all others."""
    if row.found is None:
        return "it is a hub"
    before = row.found.time - row.found.since
    return (
        f"it is under a news prefix, and new on {row.found.hub}, which did not link to it {before:.1f} s before"
    )


def describe_hub(hub: HubRow) -> str:
    """Return what is known of a hub."""
    visits = f"visited {hub.visits} times, which brought {hub.links} new links"
    if hub.moved:
        return f"a hub until it moved to {hub.moved}; {visits}"
    state = f", {hub.failures} failures in a row" if hub.failures else ""
    return f"a hub: {visits}; {hub.rate.mean * 3600:.2f} new links an hour expected{state}"


def describe_again(again: Again) -> str:
    """Return what visits showed of a page, and when it is visited again."""
    visit, history = again.visit, again.visit.history
    signs = ", ".join(f"{number} by {kind}" for kind, number in sorted(visit.signs.items()))
    parts = [
        f"visited again {history.visits} times, changed {history.changes} times",
        f"a change in {time_in_words(1 / again.rate)} is expected",
        f"signs of a change since: {signs}" if signs else "",
        f"{visit.failures} failures in a row" if visit.failures else "",
        "said to be gone, and looked at once more" if visit.missing else "",
        f"last visit {_iso(visit.visited)}, due {_iso(again.due)}",
    ]
    return "; ".join(filter(None, parts))


def time_in_words(seconds: float) -> str:
    """Return a time in its largest unit.

    >>> time_in_words(90.0), time_in_words(36 * 3600)
    ('1.5 minutes', '1.5 days')
    """
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
