"""Ports of loopback for servers that are told theirs before they start."""

import random
import socket

HOST = "127.0.0.1"
#: Above those of known services, and below those that a system gives to whoever asks for any (Linux: 32768).
_OFFERED = range(20_000, 32_768)
_ATTEMPTS = 1000
#: Bound, never listening: a server that sets SO_REUSEADDR, as nearly all do, can bind the same, and listen.
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
    """Return the first of so many ports in a row that nobody takes by chance until this process ends.

    One that is found free and let go of may be another's when its server starts, seconds later. These lie
    where no system looks for a connection's port, and nobody who asks here is given one a second time.
    Raises `OSError` where there are none.
    """
    chance = random.SystemRandom()  # not the one whose seed a test sets
    for _ in range(_ATTEMPTS):
        first = chance.randrange(_OFFERED.start, _OFFERED.stop - in_a_row)
        if _hold(range(first, first + in_a_row)):
            return first
    raise OSError(f"no {in_a_row} free ports in a row from {_OFFERED.start} to {_OFFERED.stop - 1}")


def _hold(ports: range) -> bool:
    """Hold all of the ports, or none where one is another's."""
    begun: list[socket.socket] = []
    try:
        for port in ports:
            begun.append(socket.socket())
            begun[-1].bind((HOST, port))
            # Only now: with it, a port that somebody else holds could be bound too.
            begun[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError:
        for each in begun:
            each.close()
        return False
    _held.extend(begun)
    return True
