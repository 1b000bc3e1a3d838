"""The application that commands register with, their examples, and the errors that end as one line."""

from typing import Annotated

import typer

app = typer.Typer(
    help="A focused web crawler that learns, while it crawls, from links and from what people visited.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, secrets among them
    rich_markup_mode="rich",
)

#: The examples in each command's help, by the command's full name; tests run them.
EXAMPLES: dict[str, tuple[str, ...]] = {}


class CommandError(Exception):
    """A command that can't do what it was asked; the text is all that people see."""


def examples(command: str, *lines: str) -> str:
    """Note the examples of ``command`` and return them as the end of its help."""
    EXAMPLES[command] = lines
    return "\n\n".join(["Examples:", *(line.replace("[", r"\[") for line in lines)])


def complaint(error: Exception) -> str | None:
    """Return the line that says what is wrong, or None for an error that only a traceback explains."""
    from streams.logging import printable

    return printable(str(error), limit=2000) if isinstance(error, _mendable()) else None


def _mendable() -> tuple[type[Exception], ...]:
    # Imported when an error has come, so that a command that goes well does not wait for all of them.
    from agents.offline.warc import ArchiveError
    from models.predicate import PredicateError
    from streams.configuration import ConfigurationError
    from streams.transport.database import JournalInUseError, JournalMissingError

    return (
        ArchiveError, CommandError, ConfigurationError, JournalInUseError, JournalMissingError,
        PredicateError,
    )  # fmt: skip


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
    """A focused web crawler that learns, while it crawls, from links and from what people visited."""
