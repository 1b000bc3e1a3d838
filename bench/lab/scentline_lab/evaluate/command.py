"""What the evaluate command does: checks, the crawls, then tables, pictures and the report."""

import difflib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scentline.agents.judge.predicates import check_judges
from scentline.agents.observe.logfile import LogFile
from scentline.agents.progress import Progress, progress
from scentline.agents.semantic.tables import table_of
from scentline.models.predicate import Predicate, parse
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline_lab.evaluate.crawls import Evaluation
from scentline_lab.evaluate.pictures import draw_lift, draw_reliability
from scentline_lab.evaluate.report import Compared, Facts, write_report
from scentline_lab.evaluate.results import Results
from scentline_lab.evaluate.run import Options, Output, crawl, measures_of, prepare
from scentline_lab.evaluate.tables import (
    against_best,
    headline,
    learned_against,
    log_worth,
    reuse,
    write_comparisons,
    write_curves,
    write_means,
    write_results,
)
from scentline_lab.evaluate.webs import WebsOutput, write_tables
from scentline_lab.simulation.policies import Maker, named, policies, reusable
from scentline_lab.simulation.virtual import Terms


def run(settings: Settings, options: Options, out: Path) -> Results | None:
    """Evaluate and write everything into ``out``; None when it was interrupted, with a line that says so.

    Raises what is wrong with the options before anything is started.
    """
    _check_settings(settings)
    table = table_of(settings.learn.table)
    makers = named(measures_of(settings), table)
    options = replace(options, policies=_policies(options.policies or tuple(policies()), makers))
    predicates = _predicates(settings)
    _check(options)
    output = Output(out)
    output.prepare()
    try:
        with progress(sys.stderr) as bars:
            heirs = reusable(measures_of(settings), table)
            evaluation = prepare(settings, options, predicates, makers, heirs, bars)
            results = crawl(evaluation, output, options, bars)
            _write(output, evaluation, results, predicates, bars)
    except KeyboardInterrupt:
        finished = sum(1 for _ in output.orders.iterdir())
        sys.stderr.write(
            f"\nInterrupted: {output.orders} has the orders of the {finished} crawls that finished.\n"
        )
        return None
    return results


def run_webs(webs: Mapping[str, tuple[Settings, Options]], out: Path) -> dict[str, Results] | None:
    """Evaluate each web into a directory of its own, and write what they come to; None when interrupted."""
    output = WebsOutput(out)
    output.prepare()
    found = {}
    for name, (settings, options) in webs.items():
        results = run(settings, options, output.web(name))
        if results is None:
            return None
        found[name] = results
    write_tables(output, found, next(settings.random_seed for settings, _ in webs.values()))
    return found


def _policies(given: Sequence[str], makers: Mapping[str, Maker]) -> tuple[str, ...]:
    """Return the policies asked for, each once, in the order of the registry."""
    for name in given:
        if name not in makers:
            near = difflib.get_close_matches(name, makers, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ConfigurationError(f"--policy {name!r}: {hint}expected some of {', '.join(makers)}")
    return tuple(name for name in makers if name in given)


#: What a virtual crawl makes no difference of, by dotted key; what it goes by is in docs/evaluation.md.
_REFUSED = (
    "frontier.ordering", "frontier.mode", "frontier.max_depth", "frontier.depth",
    "frontier.threshold", "frontier.visited_patterns_only",
)  # fmt: skip


def _check_settings(settings: Settings) -> None:
    """Refuse what would be passed over: a figure is not to stand beside a setting that it has not."""
    default = Settings()
    found: dict[str, tuple[object, object]] = {}
    for key in _REFUSED:
        section, name = key.split(".")
        found[key] = getattr(getattr(settings, section), name), getattr(getattr(default, section), name)
    for key, (given, usual) in found.items():
        if given != usual:
            raise ConfigurationError(
                f"{key} is {given!r}: an evaluation goes by its own options and policies; leave it out"
            )


def _predicates(settings: Settings) -> dict[str, Predicate]:
    if not settings.predicates:
        raise ConfigurationError(
            "an evaluation needs at least one predicate, such as --predicate 'news=title(\"news\")'"
        )
    predicates = {name: parse(expression) for name, expression in settings.predicates.items()}
    check_judges(predicates, settings.judge)
    return predicates


def _check(options: Options) -> None:
    for path in options.archives:
        if not path.is_file():
            raise ConfigurationError(f"--archive {path}: there is no such file")
    for source in options.logs:
        LogFile(source).close()
    if options.reuse and len(options.logs) not in (1, 2):
        raise ConfigurationError(f"--reuse: got {len(options.logs)} logs, expected two, or one to split")
    if options.reuse and reusable().keys().isdisjoint(options.policies):
        raise ConfigurationError(
            f"--reuse: none of the policies can reuse a crawl's state; expected one of {', '.join(reusable())}"
        )


def _write(
    output: Output,
    evaluation: Evaluation,
    results: Results,
    predicates: Mapping[str, Predicate],
    bars: Progress,
) -> None:
    bars.phase("write the report", len(predicates) + 2)
    seed = evaluation.random_seed
    compared = Compared(
        against_best([results], seed),
        learned_against([results], seed),
        log_worth([results], seed),
        reuse(results, seed),
        headline(results, seed),
    )
    write_results(output.table("results"), results)
    write_means(output.table("table"), results, seed)
    write_curves(output.table("curves"), results)
    early = f"harvest_{results.early}"
    compared_by = [
        ("auc", compared.best),
        ("auc", compared.learned),
        ("auc", compared.log),
        (early, compared.reuse),
        ("auc, the other's best start", compared.headline),
    ]
    write_comparisons(output.table("comparisons"), compared_by)
    bars.advance()
    draw_lift(output.lift(None), results, None, f"Mean of {len(predicates)} predicates", ", ".join(predicates))
    draw_reliability(output.reliability, results)
    bars.advance()
    for name, predicate in predicates.items():
        draw_lift(output.lift(name), results, name, name, str(predicate))
        bars.advance()
    facts = Facts(
        _facts(evaluation, results),
        {name: str(predicate) for name, predicate in predicates.items()},
        {name: len(urls) for name, urls in evaluation.web.hits.items()},
        len(evaluation.web.pages),
    )
    write_report(output, results, facts, compared)


def _end(terms: Terms) -> tuple[str, str]:
    clock = terms.clock
    if clock is None:
        return "pages a crawl", f"{terms.budget:,}"
    return "seconds a crawl", f"{clock.seconds:,g}, {clock.delay:g} between requests to a host"


def _facts(evaluation: Evaluation, results: Results) -> list[tuple[str, str]]:
    trace = evaluation.trace
    return [
        ("pages", f"{len(evaluation.web.pages):,}"),
        ("links", f"{sum(len(page.links) for page in evaluation.web.pages.values()):,}"),
        ("accesses", f"{sum(trace.accesses.values()):,}"),
        ("pages of the log", f"{len(trace.accesses):,}"),
        ("predicates", str(len(results.predicates))),
        ("starts", str(evaluation.starts)),
        ("seeds a start", str(evaluation.seeds)),
        _end(evaluation.terms),
        ("random seed", str(evaluation.random_seed)),
    ]
