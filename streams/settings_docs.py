"""The reference page of the settings, written from the class: ``python -m streams.settings_docs``."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from streams.configuration import OPEN
from streams.settings import Settings

HEAD = """\
# Settings

Written by `make docs` from `streams/settings.py`; edit that, not this page.

A value is taken from the last of these that gives one:

1. the defaults below;
2. `scentline.toml` in the current directory, or the file named with `--config FILE`;
3. the environment: `SCENTLINE_` and the key in capitals, `__` for the dot, such as
   `SCENTLINE_FRONTIER__BUDGET=1000`;
4. the command line: a command's own options, or `--set frontier.budget=1000`.

In the environment and in `--set`, the parts of a list stand between commas. `scentline config show` prints
the values in force and where each came from. A key that does not exist is an error.

```toml
random_seed = 7

[frontier]
policy = "linkage"
budget = 1000

[predicates]
hockey = 'category("Sports") and "hockey"'
```
"""

#: Bounds as JSON Schema spells them, and as people read them.
BOUNDS = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}
TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}


def markdown() -> str:
    """Return the page: one table of keys, values, defaults and meanings for each section."""
    schema = Settings.model_json_schema()
    sections, top = [], {}
    for name, property_ in schema["properties"].items():
        if "$ref" in property_:
            section = schema["$defs"][property_["$ref"].rpartition("/")[2]]
            sections.append((name, section["description"], section["properties"]))
        else:
            top[name] = property_
    parts = [HEAD, *_table("The whole crawl", "", "", top)]
    for name, description, properties in sections:
        parts += _table(f"[{name}]", description, f"{name}.", properties)
    return "\n".join(parts)


def _table(title: str, description: str, prefix: str, properties: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    if description:
        yield f"{description}\n"
    yield "| key | value | default | meaning |\n|---|---|---|---|"
    for name, schema in properties.items():
        key = f"{prefix}{name}" + (".NAME" if name == OPEN else "")
        yield f"| `{key}` | {_kind(schema)} | {_default(name, schema)} | {schema['description']} |"
    yield ""


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join("none" if kind["type"] == "null" else _kind(kind) for kind in schema["anyOf"])
    if schema["type"] == "array":
        return f"{len(schema['prefixItems'])} numbers" if "prefixItems" in schema else "list of texts"
    if schema["type"] == "object":
        return "expression"
    kind = {"password": "secret text", "path": "path"}.get(schema.get("format", ""), TYPES[schema["type"]])
    bounds = [f"{words} {schema[bound]}" for bound, words in BOUNDS.items() if bound in schema]
    return ", ".join([kind, *bounds])


def _default(name: str, schema: Mapping[str, Any]) -> str:
    if name == "broker":
        return "`embedded://` and `data`, made absolute"
    default = schema.get("default")
    return "none" if default in (None, []) else f"`{json.dumps(default)}`"


if __name__ == "__main__":
    sys.stdout.write(markdown())
