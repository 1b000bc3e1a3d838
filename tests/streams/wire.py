"""Every form in which something lies in a topic or a table: examples, their bytes, and how these are read.

wire.jsonl has a line a form: the fields of its example, none of them at its default, and its bytes, the newest
first; older ones lie in topics and tables. Bytes are in hexadecimal, those of topics in JSON as they stand.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).with_suffix(".jsonl")


@dataclass(frozen=True)
class Pin:
    """One form: where it lies (``topics/NAME``, ``tables/NAME`` or ``journal``), its fields and its bytes."""

    where: str
    name: str
    fields: Any
    bytes: tuple[bytes, ...]


def pins() -> list[Pin]:
    found = map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
    return [Pin(**each | {"bytes": tuple(map(_bytes, each["bytes"]))}) for each in found]


def _bytes(text: str) -> bytes:
    return text.encode() if text.startswith("{") else bytes.fromhex(text)


#: The bytes of the examples of each topic.
RECORDS: dict[str, list[bytes]] = {}
for _pin in pins():
    if _pin.where.startswith("topics/"):
        RECORDS.setdefault(_pin.where.removeprefix("topics/"), []).append(_pin.bytes[0])


def line(pin: Pin, value: bytes, example: Any) -> str:
    """Return the line that pins an example, written as ``value`` now."""
    values = dict.fromkeys((value, *pin.bytes))
    shown = [each.decode() if each.startswith(b"{") else each.hex() for each in values]
    whole = {"where": pin.where, "name": pin.name, "fields": named(example), "bytes": shown}
    return json.dumps(whole, ensure_ascii=False)


def named(value: Any) -> Any:
    """Return a value in JSON's types, structs by the names of their fields."""
    if isinstance(value, msgspec.Struct):
        return {name: named(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return named(value._asdict())
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, dict):
        return {key.hex() if isinstance(key, bytes) else str(key): named(each) for key, each in value.items()}
    return [named(each) for each in value] if isinstance(value, list | tuple) else value


def newer(value: Any, added: tuple[Any, ...]) -> Any:
    """Return ``value`` as a later release may write it: with fields appended to every struct."""
    if isinstance(value, msgspec.Struct):
        fields = {name: newer(getattr(value, name), added) for name in value.__struct_fields__}
        return _newer(type(value), len(added))(**fields, **{f"added_{n}": each for n, each in enumerate(added)})
    if isinstance(value, dict):
        return {key: newer(each, added) for key, each in value.items()}
    return type(value)(newer(each, added) for each in value) if isinstance(value, list | tuple) else value


@cache
def _newer(kind: type[msgspec.Struct], fields: int) -> Callable[..., Any]:
    added = [(f"added_{number}", Any) for number in range(fields)]
    tag = kind.__struct_config__.tag
    made = msgspec.defstruct(f"Newer{kind.__name__}", added, bases=(kind,), tag=tag, kw_only=True)
    assert made.__struct_fields__ == (*kind.__struct_fields__, *(name for name, _ in added))
    return made
