"""The bytes of every record and row are pinned; an older release reads what a newer one appends to them."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.judge.predicates import read_definition
from scentline.streams import records
from scentline.streams.attempts import why
from scentline.streams.facts import Count, EvidencePack, Label, Seeded, SightingPack, Visited
from scentline.streams.records import (
    VERSION,
    Decoder,
    Pack,
    Record,
    RecordError,
    UnknownFactsError,
    UnknownVersionError,
    encode,
)
from scentline.streams.topics import HARVEST, PREDICATES, PROXY_LOG, TABLES, TOPICS
from scentline.streams.transport.partition import FORMAT
from tests.cases import each_case
from tests.streams.wire.forms import CODECS, FORMS, RECORD, Form
from tests.streams.wire.newer import newer
from tests.streams.wire.records import RECORDS, TAUGHT
from tests.streams.wire.rows import ROW_TYPES, ROWS

ROOT = Path(__file__).parents[2]
ALL = [*FORMS, RECORD]
#: Bytes on a line of a pin.
WIDTH = 16
FILES = sorted({form.file for form in ALL})

CHANGED = """\
{place} {problem}.
If all that changed is that fields with defaults were appended, leave the pins that are there, and add this one
below them:

{pin}

Anything else is no compatible change: docs/upgrades.md says what it takes.
"""
UNREAD = """\
{place} {problem}.
Topics and tables hold it as it was written then, and workers of the last release write it so: read it
as it was. docs/upgrades.md says what may change.
"""


def place(form: Form) -> str:
    return f"{form.file.relative_to(ROOT)}: {form.name}"


def changed(form: Form, problem: str) -> str:
    return CHANGED.format(place=place(form), problem=problem, pin=shown(form.name, form.encode(form.example)))


def unread(form: Form, problem: str) -> str:
    return UNREAD.format(place=place(form), problem=problem)


# pins


@each_case("form", ALL)
def test_every_record_and_row_has_the_bytes_that_are_pinned(form: Form) -> None:
    pins = pinned(form.file).get(form.name)
    assert pins is not None, changed(form, "has no pin")
    assert form.encode(form.example) == pins[-1], changed(form, "is written in other bytes than those pinned")


def test_rows_that_changed_are_a_format_of_their_own() -> None:
    """Older directories are refused by the format: what their rows lack can't be told from what is 0 there."""
    pins = sorted(file for file in FILES if file.parent.name == "tables" or file.stem == "journal")
    digest = sha256(b"".join(file.read_bytes() for file in pins)).hexdigest()[:16]
    assert (FORMAT, digest) == (b"6", "e409bb96674a1398"), (
        "the rows, or the journal's records, are not those of this format: raise FORMAT in "
        f"streams/transport/partition.py, and put it here with {digest}"
    )


@each_case("file", FILES)
def test_whatever_was_pinned_once_is_read_as_it_was_meant(file: Path) -> None:
    forms = {form.name: form for form in ALL if form.file == file}
    for name, values in pinned(file).items():
        assert name in forms, f"{file.relative_to(ROOT)}: {name} is pinned, and gone: topics and tables hold it"
        form = forms[name]
        for value in values:
            try:
                read = form.decode(value)
            except (RecordError, ValueError) as error:
                pytest.fail(unread(form, f"can't be read as it is pinned ({error})"))
            kept = extends(form.plain(form.encode(read)), form.plain(value))
            assert kept, unread(form, "is not read as what is pinned says")


def extends(new: Any, old: Any) -> bool:
    """Tell whether what is written now is what was written before, but for fields at the end."""
    if isinstance(old, list) and isinstance(new, list):
        return len(new) >= len(old) and all(map(extends, new, old))
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and extends(new[key], old[key]) for key in old)
    return bool(new == old)


def test_every_topic_and_every_table_has_examples() -> None:
    assert set(RECORDS) == set(CODECS) == {topic.name for topic in TOPICS} - {PROXY_LOG.name}
    assert set(ROWS) == set(ROW_TYPES) == set(TABLES)


@each_case("table", TABLES)
def test_every_row_type_has_an_example(table: str) -> None:
    kinds = get_args(ROW_TYPES[table]) or (ROW_TYPES[table],)
    assert {type(row) for row in ROWS[table]} == set(kinds), "add one to tests/streams/wire/rows.py"


def test_every_record_has_an_example() -> None:
    kinds = {
        kind
        for name, kind in vars(records).items()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__ == records.__name__
        if not name.startswith("_") and kind is not Record
    }
    seen = {type(each) for examples in RECORDS.values() for each in structs(examples)}
    assert kinds - seen == set(), "add one to tests/streams/wire/records.py"


def structs(value: Any) -> Iterator[msgspec.Struct]:
    """Yield every struct in a value."""
    if isinstance(value, msgspec.Struct):
        yield value
        value = [getattr(value, name) for name in value.__struct_fields__]
    for held in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from structs(held)


@each_case("form", FORMS)
def test_no_field_of_an_example_is_left_at_its_default(form: Form) -> None:
    for struct in structs(form.example):
        for field in msgspec.structs.fields(struct):
            value = getattr(struct, field.name)
            if field.default_factory is not msgspec.NODEFAULT:
                assert value != field.default_factory(), (type(struct), field.name)
            elif field.name != "version":
                assert value != field.default, (type(struct), field.name)


# a later release

additions = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@each_case("form", FORMS)
@given(st.lists(additions, min_size=1, max_size=3).map(tuple))
def test_fields_that_a_later_release_appends_are_read_over(form: Form, added: tuple[Any, ...]) -> None:
    assert form.decode(form.encode(newer(form.example, added))) == form.example


@each_case("topic", sorted(set(RECORDS) - {PREDICATES.name, HARVEST.name}))
def test_a_record_of_an_unknown_version_is_an_error_that_names_it(topic: str) -> None:
    to_bytes, read = CODECS[topic]
    for example in RECORDS[topic]:
        later = msgspec.structs.replace(example, version=VERSION + 1)
        with pytest.raises(UnknownVersionError, match=r"unknown version 2, expected 1$"):
            read(to_bytes(later))


def test_a_definition_of_an_unknown_version_is_an_error_that_names_it() -> None:
    [example] = RECORDS[PREDICATES.name]
    with pytest.raises(ValueError, match="unknown version 2, expected 1"):
        read_definition(msgspec.json.encode(msgspec.structs.replace(example, version=VERSION + 1)))


# facts of kinds that are not known


class Praised(msgspec.Struct, array_like=True, frozen=True, tag="praised"):
    """A kind of fact of a later release."""

    url: str
    stars: int


urls = st.text(max_size=20).map("http://a.test/{}".format)
times = st.floats(-6e10, 2e11)
facts = st.builds(Seeded, urls) | st.builds(Visited, urls, st.text(), times)
mixed = st.lists(facts | st.builds(Praised, st.text(), st.integers(0, 5)), min_size=1, max_size=12)
no_urls = st.sampled_from(
    ["", "x", "http:///", "ftp://a.test/", "http://a@b.test/", "http://a.test", "h" * 5000]
)
no_times = st.sampled_from([float("nan"), float("inf"), 1e300, -1e12])


@given(mixed, st.text(max_size=12))
def test_the_known_facts_of_a_pack_are_read_whatever_else_is_in_it(found: list[Any], source: str) -> None:
    pack: Pack[Any] = Pack(source=source, facts=[(7, index, fact) for index, fact in enumerate(found)])
    known = [fact for fact in pack.facts if not isinstance(fact[2], Praised)]
    strange = [fact for fact in pack.facts if isinstance(fact[2], Praised)]
    try:
        read: Pack[Any] = Decoder[Any](SightingPack)(encode(pack))
    except UnknownFactsError as error:
        assert strange
        assert str(error).endswith(f"skipped: {len(strange)} of {len(found)} in the pack")
        assert msgspec.msgpack.decode(error.unknown, type=Pack[Praised]) == Pack(source=source, facts=strange)
        read = error.known
    else:
        assert not strange
    assert read == Pack(source=source, facts=known)


@given(facts, st.builds(Seeded, no_urls) | st.builds(Visited, urls, st.text(), no_times))
def test_a_fact_that_no_reader_could_use_is_left_out_alone(good: Any, bad: Any) -> None:
    facts = [(7, 0, bad), (7, 1, good)]
    with pytest.raises(UnknownFactsError, match="facts that can't be read, skipped: 1 of 2") as caught:
        Decoder[Any](SightingPack)(encode(Pack(source="pages/0", facts=facts)))
    assert caught.value.known == Pack(source="pages/0", facts=facts[1:])
    assert why(caught.value) == "unreadable"
    with pytest.raises(RecordError, match="not a Pack: Expected"):
        Decoder[Any](SightingPack)(encode(Pack(source="pages/0", facts=facts[:1])))


def test_unknown_evidence_is_told_apart_too() -> None:
    pack: Pack[Any] = Pack(facts=[(0, 0, TAUGHT[0]), (0, 1, Praised("http://a.test/", 5)), (0, 2, TAUGHT[1])])
    with pytest.raises(UnknownFactsError) as caught:
        Decoder[Any](EvidencePack)(encode(pack))
    assert [type(fact) for _, _, fact in caught.value.known.facts] == [Count, Label]


def test_a_pack_with_a_damaged_fact_of_a_known_kind_is_no_pack() -> None:
    damaged: Pack[Any] = Pack(facts=[(0, 0, ["seeded", 5]), (0, 1, Praised("http://a.test/", 5))])
    with pytest.raises(RecordError, match="Expected `str`, got `int`") as caught:
        Decoder[Any](SightingPack)(encode(damaged))
    assert not isinstance(caught.value, UnknownFactsError)


# pins: for each form its name, then its bytes as hexadecimal and as text, the newest of them last


def shown(name: str, value: bytes) -> str:
    """Return the lines of a pin.

    >>> print(shown("Seeded", b"a \\xc1"))
    Seeded
      61 20 c1                                         |a .|
    """
    lines = [name]
    for start in range(0, len(value), WIDTH):
        part = value[start : start + WIDTH]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)
        lines.append(f"  {part.hex(' '):<{3 * WIDTH}} |{text}|")
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
