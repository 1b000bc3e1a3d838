"""The process that reads kept copies: it answers what it is asked on standard input, until there is no more."""

import select
import signal
from typing import BinaryIO

import msgspec

from scentline.agents.judge.apart.bounds import alone, bound_cpu, bound_memory, die_first, die_with_parent
from scentline.agents.judge.apart.messages import HEAD, framed
from scentline.agents.window.kept.text import Text, Unreadable, Wanted, text_of

#: Seconds of CPU, and bytes of memory, that a copy may take; seconds without a request after which it ends.
CPU_SECONDS, MEMORY, IDLE_SECONDS = 5, 500_000_000, 60.0

_decode = msgspec.msgpack.Decoder(Wanted).decode


def main() -> None:
    """Read one copy after the other; end where nobody has asked for one for a while."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    die_first()
    source, out = alone()
    bound_memory(MEMORY)
    while select.select([source], [], [], IDLE_SECONDS)[0] and (wanted := _next(source)) is not None:
        bound_cpu(CPU_SECONDS)
        answer, failed = _answer(wanted)
        out.write(framed(answer))
        out.flush()
        if failed:
            return  # the next copy meets a process that has seen nothing


def _answer(wanted: Wanted) -> tuple[Text | Unreadable, bool]:
    """Return what a copy comes to, and whether it brought the reading to fail."""
    try:
        return text_of(wanted), False
    except Exception as error:  # whatever it is, it is this copy's
        return Unreadable(f"it can't be read: {type(error).__name__}"), True


def _next(source: BinaryIO) -> Wanted | None:
    head = source.read(HEAD)
    data = source.read(int.from_bytes(head, "big"))
    return _decode(data) if len(head) == HEAD else None


if __name__ == "__main__":
    main()
