"""Loopback ports for servers that need to know theirs before they start."""

import random
import socket

HOST = "127.0.0.1"
#: Above the ports of known services, and below the ephemeral ones (Linux: 32768).
_OFFERED = range(20_000, 32_768)
_ATTEMPTS = 1000
#: Bound, never listening: a server that sets SO_REUSEADDR, as nearly all do, can still bind and listen.
_held: list[socket.socket] = []


def free(port: int) -> bool:
    """Return whether nothing listens on a port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port(in_a_row: int = 1) -> int:
    """Return the first of ``in_a_row`` ports that no other process takes by chance until this one ends.

    A port that is found free and released may be taken when its server starts, seconds later. These lie outside
    the ephemeral range, stay bound here, and are never returned twice. Raises `OSError` where there are none.
    """
    chance = random.SystemRandom()  # not the one whose seed a test sets
    for _ in range(_ATTEMPTS):
        first = chance.randrange(_OFFERED.start, _OFFERED.stop - in_a_row)
        if _hold(range(first, first + in_a_row)):
            return first
    raise OSError(f"no {in_a_row} free ports in a row from {_OFFERED.start} to {_OFFERED.stop - 1}")


def _hold(ports: range) -> bool:
    """Hold all of the ports, or none if one is taken."""
    begun: list[socket.socket] = []
    try:
        for port in ports:
            begun.append(socket.socket())
            begun[-1].bind((HOST, port))
            # Only now: with it, a port that another process holds could be bound too.
            begun[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError:
        for each in begun:
            each.close()
        return False
    _held.extend(begun)
    return True
