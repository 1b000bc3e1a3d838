"""The application that commands register with, their examples, and the errors that end as one line."""

from typing import Annotated

import typer

from scentline.models.errors import ScentlineError

app = typer.Typer(
    help="A focused web crawler that learns, while it crawls, from links and from the pages people visited.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, secrets among them
    rich_markup_mode="rich",
)

#: A shell's status for a process that SIGINT ended.
INTERRUPTED = 130

#: The examples in each command's help, by the command's full name; tests run them.
EXAMPLES: dict[str, tuple[str, ...]] = {}


class CommandError(ScentlineError):
    """A command that can't be carried out; people see only the text."""


def examples(command: str, *lines: str) -> str:
    """Note the examples of ``command`` and return them as the end of its help."""
    EXAMPLES[command] = lines
    return "\n\n".join(["Examples:", *map(literal, lines)])


def literal(text: str) -> str:
    """Return a text of a help as it is to be shown: each paragraph as one line, brackets as no markup."""
    return "\n\n".join(each.replace("\n", " ") for each in text.split("\n\n")).replace("[", r"\[")


def complaint(error: Exception) -> str | None:
    """Return an error's message, or None if only a traceback explains it.

    It is one line; a predicate's error has a caret under the column, below.
    """
    from scentline.models.predicate import PredicateError
    from scentline.streams.logging import of_the_machine, printable, told

    if isinstance(error, ScentlineError) and error.explains_itself:
        text = str(error)
    elif of_the_machine(error):
        text = told(error)
    else:
        return None
    lines = text.split("\n") if isinstance(error, PredicateError) else [text]
    return "\n".join(printable(line, limit=2000) for line in lines)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"scentline {version('scentline')}")
        raise typer.Exit


@app.callback(epilog=examples("", "scentline --version", "scentline config show"))
def scentline(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A focused web crawler that learns, while it crawls, from links and from the pages people visited."""
