"""The command line, one command a file; nothing slow is imported before a command runs."""

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence

from scentline.streams.memory import collect_seldom, import_sparingly, uncollected

#: The modules that hold the commands, by the groups of the help; importing one registers its commands.
GROUPS = {
    "Crawl": ("demo", "crawl", "feed", "seed", "predicate", "steer"),
    "Look": ("window", "top", "harvest", "matches", "refused", "changes", "explain", "audit", "dead_letters"),
    "Crawl on Kafka": ("worker", "topics", "lag", "snapshot"),
    "Settings, judges and what was learned": ("config", "classifier", "semantic", "state", "forget_user"),
    "Research": (
        "evaluate", "synthetic", "serve_archive", "order", "patterns", "depth", "news", "revisits",
    ),
}  # fmt: skip
COMMANDS = tuple(name for names in GROUPS.values() for name in names)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``scentline`` with ``arguments`` (the process's own where None) and exit with its status.

    An error that people can fix ends as one line on standard error and status 2. SIGTERM ends a command as
    Ctrl-C does. Only the owner can read what a command writes: data directories say who read what.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    collect_seldom()
    import_sparingly()
    with uncollected():
        from scentline.agents.cli.app import app, complaint
        from scentline.agents.signals import end_as_by_ctrl_c

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
    from scentline.agents.cli.app import EXAMPLES, app

    for name in names:
        importlib.import_module(f"scentline.agents.cli.{name}")
    panels = {name.replace("_", "-"): panel for panel, modules in GROUPS.items() for name in modules}
    for command in app.registered_commands:
        name = command.name or str(getattr(command.callback, "__name__", ""))
        command.rich_help_panel = panels[name.replace("_", "-")]
    for group in app.registered_groups:
        group.rich_help_panel = panels[group.name or ""]
    return EXAMPLES


def _named(arguments: Sequence[str]) -> Sequence[str]:
    """Return the command that is named, or all where none is: all take 40 ms to register."""
    name = arguments[0].replace("-", "_") if arguments else ""
    return [name] if name in COMMANDS else COMMANDS
