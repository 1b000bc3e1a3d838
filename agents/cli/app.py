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

#: What a shell reports of a process that SIGINT ended.
INTERRUPTED = 130

#: The examples in each command's help, by the command's full name; tests run them.
EXAMPLES: dict[str, tuple[str, ...]] = {}


class CommandError(Exception):
    """A command that can't do what it was asked; the text is all that people see."""


def examples(command: str, *lines: str) -> str:
    """Note the examples of ``command`` and return them as the end of its help."""
    EXAMPLES[command] = lines
    return "\n\n".join(["Examples:", *(line.replace("[", r"\[") for line in lines)])


def complaint(error: Exception) -> str | None:
    """Return what is wrong, or None for an error that only a traceback explains.

    It is one line; below that of a predicate's error stands a caret under the column.
    """
    from models.predicate import PredicateError
    from streams.logging import printable
    from streams.trouble import of_the_machine, told

    if isinstance(error, _mendable()):
        text = str(error)
    elif of_the_machine(error):
        text = told(error)
    else:
        return None
    lines = text.split("\n") if isinstance(error, PredicateError) else [text]
    return "\n".join(printable(line, limit=2000) for line in lines)


def _mendable() -> tuple[type[Exception], ...]:
    # Imported when an error has come, so that a command that goes well does not wait for all of them.
    from agents.control.requests import RefusedError
    from agents.evaluate.spread import WorkerError
    from agents.keep.store import KeepingError
    from agents.labels import LabelsError
    from agents.observation.logfile import LogFileError
    from agents.offline.linkgraph import GraphError
    from agents.offline.process import ServerProcessError
    from agents.offline.warc import ArchiveError
    from agents.output_directory import OccupiedError
    from agents.semantic.encoders import EncoderError
    from agents.topics.create import TopicsError
    from models.accesslog.recognise import LogFormatError
    from models.classify.stored import ClassifierError
    from models.predicate import PredicateError
    from models.reuse.checks import LearnedStateError
    from models.semantic.stored import SemanticTableError
    from streams.configuration import ConfigurationError
    from streams.tables import TableMissingError
    from streams.transport.database import JournalInUseError, JournalMissingError, StorageError
    from streams.transport.journal import UnknownTopicError
    from streams.transport.kafka.connection import KafkaError

    return (
        ArchiveError, ClassifierError, CommandError, ConfigurationError, EncoderError, GraphError,
        JournalInUseError, JournalMissingError, KafkaError, KeepingError, LabelsError, LearnedStateError,
        LogFileError, LogFormatError, OccupiedError, PredicateError, RefusedError, SemanticTableError,
        ServerProcessError, StorageError, TableMissingError, TopicsError, UnknownTopicError, WorkerError,
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
