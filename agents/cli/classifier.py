"""``scentline classifier train``: train a judge of categories on examples."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import AsJson, command, command_group
from scentline.agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from scentline.agents.judge.examples import Examples
    from scentline.models.classifier import Holdout

command_group("classifier", "Train a judge of categories on examples.")


@command(
    "classifier train",
    "scentline classifier train examples.tsv --out topics.classifier",
    "scentline classifier train topics.tsv.gz --archive pages.warc.gz --out topics.classifier --json",
)
def train(
    examples_file: Annotated[
        Path, typer.Argument(metavar="EXAMPLES", help="Lines of a URL or text, a tab, and a category.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write.")],
    archives: Annotated[
        list[Path] | None, typer.Option("--archive", metavar="WARC", help="Pages of the URLs; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a text classifier, and print how accurate it is (cross-validated).

    The file's classifier is trained on all examples. A crawl uses it with --set judge.classifier=FILE.
    """
    from scentline.agents.judge.examples import load
    from scentline.agents.judge.examples import train as run
    from scentline.agents.offline.archive import Archive

    with ExitStack() as resources:
        for path in archives or ():
            if not path.is_file():
                raise CommandError(f"--archive {path}: there is no such file")
        archive = resources.enter_context(Archive(archives)) if archives else None
        found = load(examples_file, archive)
    holdout = run(found, out)
    if as_json:
        _print_as_json(found, holdout)
    else:
        _print(found, holdout)


def _print_as_json(found: "Examples", holdout: "Holdout") -> None:
    print_json({
        "examples": len(found.found), "missing": found.missing, "empty": found.empty,
        "accuracy": round(holdout.accuracy, 4),
        "categories": {
            name: {"examples": each.examples, "precision": each.precision, "recall": each.recall}
            for name, each in holdout.categories.items()
        },
    })  # fmt: skip


def _print(found: "Examples", holdout: "Holdout") -> None:
    typer.echo(f"{len(found.found)} examples, {found.missing} pages missing, {found.empty} without a word")
    typer.echo(f"accuracy {holdout.accuracy:.1%} in {holdout.folds}-fold cross-validation")
    print_table(
        ("category", "examples", "precision", "recall"),
        (
            (
                name, str(each.examples), "-" if each.precision is None else f"{each.precision:.2f}",
                f"{each.recall:.2f}",
            )
            for name, each in holdout.categories.items()
        ),
    )  # fmt: skip
