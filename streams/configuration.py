"""Where settings come from: defaults, a file, the environment and the command line, the last one winning.

Each source is flattened into `Given` values under dotted keys ("frontier.budget"), so that errors can name it.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo

from scentline.models.errors import ScentlineError
from scentline.models.settings import Section
from scentline.streams.settings import Settings

FILE = "scentline.toml"
PREFIX = "SCENTLINE_"
OPEN = "predicates"  # the one table whose keys are the user's own
SHOWN = 80  # characters of a wrong value in a message


class ConfigurationError(ScentlineError, ValueError):
    """Settings that can't be used; the text names the key, where it came from and what was expected."""


@dataclass(frozen=True)
class Given:
    """A value that a source gives for a dotted key; ``where`` names the source as people know it."""

    key: str
    value: Any
    where: str


@dataclass(frozen=True)
class Loaded:
    """The effective settings, and for each dotted key the source of its value ("default" for most)."""

    settings: Settings
    origins: Mapping[str, str]

    def values(self) -> dict[str, Any]:
        """Return every key's effective value, fit for JSON; a secret shows only that it is set."""
        shown: dict[str, Any] = {}
        for key in self.origins:
            value: Any = self.settings
            for part in key.split(".", 1):
                value = value[part] if isinstance(value, dict) else getattr(value, part)
            shown[key] = _shown(value)
        return shown


def load(
    overrides: Mapping[str, Any] | None = None,
    *,
    config_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Loaded:
    """Return the settings from all sources; ``overrides`` are the command line's, by dotted key.

    The file is ``config_file``, which must exist, or else a scentline.toml in ``cwd``. Raises
    `ConfigurationError`.
    """
    known = keys()
    given: dict[str, Given] = {}
    for value in (
        *_from_file(config_file, cwd or Path.cwd()),
        *_from_environment(os.environ if environ is None else environ),
        *(Given(key, value, "command line") for key, value in (overrides or {}).items()),
    ):
        _check_key(value, known)
        given[value.key] = value
    settings = _validated(given, known)
    origins = {key: given[key].where if key in given else "default" for key in known}
    origins |= {key: value.where for key, value in given.items() if key not in known}
    return Loaded(settings, origins)


def keys() -> dict[str, FieldInfo]:
    """Return every dotted key with its field, those of no section first, as TOML wants them; no predicates."""
    found: dict[str, FieldInfo] = {}
    alone: dict[str, FieldInfo] = {}
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            found |= {f"{name}.{inner}": value for inner, value in field.annotation.model_fields.items()}
        elif name != OPEN:
            alone[name] = field
    return alone | found


def assignment(text: str) -> tuple[str, str]:
    """Read a ``KEY=VALUE`` of the command line; raises `ConfigurationError`.

    >>> assignment("frontier.budget=100")
    ('frontier.budget', '100')
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigurationError(f"command line: {_quoted(text)} is not KEY=VALUE, such as frontier.budget=100")
    return key.strip(), value


def _from_file(config_file: Path | None, cwd: Path) -> Iterator[Given]:
    path = config_file or cwd / FILE
    if config_file is None and not path.exists():
        return
    where = FILE if config_file is None else str(config_file)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{where}: can't be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{where}: is not TOML in UTF-8: {error}") from error
    for name, value in tables.items():
        if isinstance(value, dict):
            yield from (Given(f"{name}.{inner}", setting, where) for inner, setting in value.items())
        else:
            yield Given(name, value, where)


def _from_environment(environ: Mapping[str, str]) -> Iterator[Given]:
    for name in sorted(environ):
        if name.startswith(PREFIX):
            key = name.removeprefix(PREFIX).lower().replace("__", ".", 1)
            yield Given(key, environ[name], f"environment {name}")


def _check_key(given: Given, known: Mapping[str, FieldInfo]) -> None:
    if given.key in known or given.key.startswith(f"{OPEN}."):
        return
    nearest = _nearest(given.key, known)
    if given.where.startswith("environment"):
        nearest = PREFIX + nearest.upper().replace(".", "__")
    raise ConfigurationError(
        f"{_printable(given.where)}: there is no setting {_printable(given.key)}; did you mean {nearest}?"
    )


def _nearest(key: str, known: Mapping[str, FieldInfo]) -> str:
    """Return the known key most like ``key``: its last part may stand alone ("budget") or begun ("delay")."""
    section, _, name = key.rpartition(".")

    def likeness(candidate: str) -> tuple[float, float]:
        its_section, _, its_name = candidate.rpartition(".")
        if its_name.startswith(f"{name}_"):
            return 0.95, its_section == section
        last = difflib.SequenceMatcher(None, name, its_name).ratio()
        whole = difflib.SequenceMatcher(None, key, candidate).ratio()
        return max(last, whole), whole

    return max(known, key=likeness)


def _validated(given: Mapping[str, Given], known: Mapping[str, FieldInfo]) -> Settings:
    nested: dict[str, Any] = {}
    for key, value in given.items():
        section, dot, name = key.partition(".")
        data = _typed(value.value, known.get(key))
        if dot:
            nested.setdefault(section, {})[name] = data
        else:
            nested[section] = data
    try:
        return Settings(**nested)
    except ValidationError as error:
        raise ConfigurationError(_complaint(error, given)) from error


def _typed(value: Any, field: FieldInfo | None) -> Any:
    """Return text as the field takes it: a tuple's parts stand between commas, empty is no value."""
    if not isinstance(value, str) or field is None:
        return value
    accepts = str(field.annotation)
    if accepts.startswith("tuple"):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return None if value == "" and "None" in accepts else value


def _complaint(error: ValidationError, given: Mapping[str, Given]) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"][:2])
    value = given.get(key) or given.get(key.partition(".")[0])
    expected = first["msg"].replace("Input should be", "expected", 1).removeprefix("Value error, ")
    if value is None:
        return f"{_printable(key)}: {expected}"
    secret = isinstance(value.value, SecretStr) or "SecretStr" in str(keys().get(value.key))
    shown = "the value given" if secret else _quoted(value.value)
    return f"{_printable(value.where)}: {_printable(value.key)} can't be {shown}: {expected}"


def _quoted(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _printable(text: str) -> str:
    return text if text.isprintable() and len(text) <= SHOWN else _quoted(text)


def _shown(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return "set"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str):
        return re.sub(r"(?<=//)[^/@]*@", "", value)  # the login of a proxy or broker is a secret too
    return list(value) if isinstance(value, tuple) else value
