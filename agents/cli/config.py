"""``scentline config show``: the current settings and where each came from."""

import json

import typer

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.options import AsJson, Assignments, ConfigFile, load_settings
from scentline.agents.cli.output import print_json, print_table

config = typer.Typer(no_args_is_help=True)
app.add_typer(config, name="config", help="Show the settings.")


@config.command(
    "show",
    epilog=examples(
        "config show", "scentline config show", "scentline config show --set frontier.budget=100 --json"
    ),
)
def show(file: ConfigFile = None, assignments: Assignments = None, as_json: AsJson = False) -> None:
    """Print each setting's value and where it came from: default, file, environment or command line."""
    loaded = load_settings(file, assignments)
    values = loaded.values()
    if as_json:
        print_json({key: {"value": value, "origin": loaded.origins[key]} for key, value in values.items()})
        return
    print_table(
        ("key", "value", "from"),
        ((key, _text(value), loaded.origins[key]) for key, value in values.items()),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
