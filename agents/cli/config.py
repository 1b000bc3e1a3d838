"""``scentline config show``: the current settings and where each came from."""

import json

from scentline.agents.cli.options import AsJson, Given, command, command_group
from scentline.agents.cli.output import print_json, print_table

command_group("config", "Show the settings.")


@command(
    "config show", "scentline config show", "scentline config show --set frontier.budget=100 --json", takes=()
)
def show(given: Given, as_json: AsJson = False) -> None:
    """Print each setting's value and where it came from: default, file, environment or command line."""
    loaded = given.loaded()
    values = loaded.values()
    if as_json:
        print_json({key: {"value": value, "origin": loaded.origins[key]} for key, value in values.items()})
        return
    print_table(
        ("key", "value", "from"), ((key, _text(value), loaded.origins[key]) for key, value in values.items())
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
