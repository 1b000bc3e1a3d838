"""The command line, one command a file; nothing slow is imported before a command runs."""

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence

from streams.memory import collect_seldom, import_sparingly, uncollected

#: The modules that hold the commands, in the order of the help; importing one registers its commands.
COMMANDS = (
    "demo",
    "crawl",
    "evaluate",
    "synthetic",
    "order",
    "patterns",
    "depth",
    "news",
    "revisits",
    "feed",
    "seed",
    "predicate",
    "steer",
    "classifier",
    "state",
    "window",
    "top",
    "harvest",
    "matches",
    "changes",
    "explain",
    "audit",
    "serve_archive",
    "dead_letters",
    "forget_user",
    "topics",
    "lag",
    "worker",
    "snapshot",
    "semantic",
    "config",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``scentline`` with ``arguments`` (the process's own where None) and exit with its status.

    An error that people can fix ends as one line on standard error and status 2. SIGTERM ends a command as
    Ctrl-C does. Only the owner can read what a command writes: data directories say who read what.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    collect_seldom()
    import_sparingly()
    with uncollected():
        from agents.cli.app import app, complaint
        from agents.signals import end_as_by_ctrl_c

        load_commands(_named(given))
    end_as_by_ctrl_c()
    atexit.register(gc.freeze)  # nothing has to be found in a process that ends
    os.umask(0o077)
    try:
        try:
            app(args=given, prog_name="scentline")
        finally:
            sys.stdout.flush()  # what can't be written is told like any other trouble
    except Exception as error:
        line = complaint(error)
        if line is None:
            raise
        sys.stderr.write(f"scentline: error: {line}\n")
        sys.exit(2)


def load_commands(names: Sequence[str] = COMMANDS) -> Mapping[str, tuple[str, ...]]:
    """Register commands; return the examples of each one's help by its full name ("config show")."""
    from agents.cli.app import EXAMPLES

    for name in names:
        importlib.import_module(f"agents.cli.{name}")
    return EXAMPLES


def _named(arguments: Sequence[str]) -> Sequence[str]:
    """Return the command that is named, or all where none is: all take 40 ms to register."""
    name = arguments[0].replace("-", "_") if arguments else ""
    return [name] if name in COMMANDS else COMMANDS
