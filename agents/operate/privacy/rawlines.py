"""The raw lines of a user that wait, or have waited, on `proxy-log`."""

from collections.abc import Iterator

from agents.observe.observer import Observer
from agents.operate.inspect.record import entries
from streams.topics import PROXY_LOG
from streams.transport.journal import Journal
from streams.transport.layout import pack_offset, place


def lines_of(journal: Journal, observer: Observer, pseudonym: str, identity: str | None) -> Iterator[bytes]:
    """Yield the keys in the journal's database of a user's raw lines.

    Those are the lines that count under the pseudonym, those whose client or user is ``identity``, where that
    is known, and those that hold it and can't be read.
    """
    meta = journal.topics()[PROXY_LOG.name]
    for partition in range(meta.partitions):
        reader = observer.another()
        for entry in entries(journal, PROXY_LOG.name, partition):
            line = entry.value or b""
            found = reader.identities(line)
            named = identity is not None and (identity in found if found else identity.encode() in line)
            if named or (found and reader.pseudonym(found[0]) == pseudonym):
                yield b"r" + place(meta.number, partition) + pack_offset(entry.offset)
