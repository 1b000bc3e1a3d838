"""Pinned bytes in a readable file: for each form its name, then its bytes as hexadecimal and as text.

A form that was changed has its newest bytes below those that it had before.
"""

from pathlib import Path

_WIDTH = 16


def shown(name: str, value: bytes) -> str:
    """Return the lines of a pin.

    >>> print(shown("Seeded", b"a \\xc1"))
    Seeded
      61 20 c1                                         |a .|
    """
    lines = [name]
    for start in range(0, len(value), _WIDTH):
        part = value[start : start + _WIDTH]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        lines.append(f"  {part.hex(' '):<{3 * _WIDTH}} |{text}|")
    return "\n".join(lines)


def pinned(file: Path) -> dict[str, list[bytes]]:
    """Return the pins of a file by name, the newest of each at the end."""
    found: dict[str, list[bytes]] = {}
    name = ""
    for line in file.read_text(encoding="ascii").splitlines() if file.exists() else ():
        if line.startswith("  "):
            found[name][-1] += bytes.fromhex(line.partition("|")[0])
        elif line:
            name = line
            found.setdefault(name, []).append(b"")
    return found
