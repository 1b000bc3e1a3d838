"""The command line: nothing slow is imported before a command runs.

Another distribution adds commands: each entry point of the group `PLUG_INS` names a module that registers one,
as the laboratory's do (``bench/lab``).
"""

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points

from scentline.streams.memory import collect_seldom, import_sparingly, uncollected

#: The commands by group and order of the help, and by module: importing a module registers its commands.
GROUPS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Begin": {"trying": ("init", "judge")},
    "Crawl": {"crawl": ("crawl", "feed", "worker", "serve-archive")},
    "Steer": {"steer": ("seed", "steer", "predicate")},
    "Look": {
        "look": ("window", "top", "harvest", "matches", "refused", "dead-letters"),
        "changes": ("changes",), "export": ("export",), "explain": ("explain", "audit"),
    },
    "Operate": {
        "operate": ("topics", "lag", "snapshot", "config", "state", "forget-user"),
        "crawl": ("classifier",),
    },
}  # fmt: skip
#: The module of each command.
COMMANDS = {name: module for modules in GROUPS.values() for module, names in modules.items() for name in names}
#: The group of entry points whose modules register further commands, and their group in the help.
PLUG_INS, LABORATORY = "scentline.commands", "Laboratory"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``scentline`` with ``arguments`` (the process's own where None) and exit with its status.

    An error that people can fix ends as one line on standard error and status 2. SIGTERM ends a command as
    Ctrl-C does. Only the owner can read what a command writes: data directories show who read what.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    collect_seldom()
    import_sparingly()
    with uncollected():
        from scentline.agents.cli.app import app, complaint
        from scentline.agents.signals import end_as_by_ctrl_c
    end_as_by_ctrl_c()
    atexit.register(gc.freeze)  # a process that ends needs no collection
    os.umask(0o077)
    try:
        try:
            with uncollected():
                load_commands(_named(given))
            app(args=given, prog_name="scentline")
        finally:
            sys.stdout.flush()  # a failed write is reported like any other error
    except Exception as error:
        line = complaint(error)
        if line is None:
            raise
        sys.stderr.write(f"scentline: error: {line}\n")
        sys.exit(2)


def load_commands(names: Sequence[str] | None = None) -> Mapping[str, tuple[str, ...]]:
    """Register the named commands; without ``names``, all, plug-ins included.

    Returns the examples of each one's help by its full name ("config show").
    """
    from scentline.agents.cli.app import EXAMPLES, CommandError

    for module in dict.fromkeys(COMMANDS[name] for name in (COMMANDS if names is None else names)):
        importlib.import_module(f"scentline.agents.cli.{module}")
    if names is None:
        for plug_in in entry_points(group=PLUG_INS):
            try:
                plug_in.load()
            except ImportError as error:
                raise CommandError(
                    f"the command {plug_in.name}, a plug-in: {error}; install it again"
                ) from error
    return EXAMPLES


def _named(arguments: Sequence[str]) -> Sequence[str] | None:
    """Return the names to load: one command of ours, or None for all and the plug-ins, which take longer."""
    name = arguments[0] if arguments else ""
    return [name] if name in COMMANDS else [] if name == "--version" else None


def panel(command: str) -> str:
    """Return the group of the help that shows a command."""
    groups = ((name, names) for name, modules in GROUPS.items() for names in modules.values())
    return next((name for name, names in groups if command in names), LABORATORY)
