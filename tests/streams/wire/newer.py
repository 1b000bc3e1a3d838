"""What a later release may write: the same structs with fields appended."""

from functools import cache
from typing import Any

import msgspec


@cache
def _kind(kind: type[msgspec.Struct], fields: int) -> type[msgspec.Struct]:
    added = [(f"added_{number}", Any) for number in range(fields)]
    newer = msgspec.defstruct(
        f"Newer{kind.__name__}", added, bases=(kind,), tag=kind.__struct_config__.tag, kw_only=True
    )
    assert newer.__struct_fields__ == (*kind.__struct_fields__, *(name for name, _ in added))
    return newer


def newer(value: Any, added: tuple[Any, ...]) -> Any:
    """Return ``value`` with the fields ``added`` appended to every struct in it, that itself one of them."""
    if isinstance(value, msgspec.Struct):
        kind = _kind(type(value), len(added))
        fields = {name: newer(getattr(value, name), added) for name in value.__struct_fields__}
        return kind(**fields, **{f"added_{number}": each for number, each in enumerate(added)})
    if isinstance(value, dict):
        return {key: newer(each, added) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(newer(each, added) for each in value)
    return value
