"""The bytes of every record and row are pinned; an older release reads what a newer one appends to them."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.browse import UserRow
from scentline.agents.harvest import HarvestTableRow
from scentline.agents.judge.duplicates import DuplicateRow
from scentline.agents.judge.predicates import read_definition
from scentline.agents.learn import LearnRow
from scentline.agents.operate.record import read_change, read_door, read_point, read_standing
from scentline.models import facts, published, records
from scentline.models.facts import AccessPack, EvidencePack, Found, SightingPack, Visited
from scentline.models.frontier.rows import FrontierRow
from scentline.models.frontier.steered import read_steering
from scentline.models.published import FreshnessPart, HarvestPart, read_outcome
from scentline.models.records import Decoder, Pack, RecordError, UnknownFactsError, encode
from scentline.streams.attempts import why
from scentline.streams.inbox import Codec, Mark
from scentline.streams.topics import PROXY_LOG, TABLES, TOPICS
from scentline.streams.transport.database import FORMAT, TopicMeta, decode_record, encode_record
from tests.cases import each_case

#: A line a form: the fields of its example, none of them at its default, and its bytes, the newest first; older
#: ones lie in topics and tables. Bytes are in hexadecimal, those of topics in JSON as they stand.
FILE = Path(__file__).with_name("wire.jsonl")


class Pin(NamedTuple):
    """One form: where it lies (``topics/NAME``, ``tables/NAME`` or ``journal``), its fields and its bytes."""

    where: str
    name: str
    fields: Any
    bytes: list[bytes]


def _bytes(text: str) -> bytes:
    return text.encode() if text.startswith("{") else bytes.fromhex(text)


LINES = map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
PINS = [Pin(**each | {"bytes": [*map(_bytes, each["bytes"])]}) for each in LINES]
STRUCTS = [pin for pin in PINS if pin.name != "record"]
#: The bytes of the examples of each topic.
RECORDS: dict[str, list[bytes]] = {}
for _pin in PINS:
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


# how they are written and read

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]

KINDS: dict[str, Any] = {
    "accesses": AccessPack, "sightings": SightingPack, "evidence": EvidencePack, "interests": records.Interests,
    "fetches": records.FetchOrder, "renders": records.FetchOrder, "pages": records.FetchedPage,
    "dead-letters": records.DeadLetter, "LogPosition": records.LogPosition, "HarvestPart": HarvestPart,
    "FreshnessPart": FreshnessPart,
}  # fmt: skip
IN_JSON: dict[str, Decode] = {
    "outcomes": lambda value: read_outcome(value).facts[0][2], "changes": read_change, "harvest": read_point,
    "PredicateDefinition": read_definition, "control": read_steering, "standing": read_standing,
    "DoorStanding": read_door,
}  # fmt: skip
#: How the messages of a topic, or one kind of them, are written and read: as the topic's readers do.
TOPIC_CODECS: dict[str, tuple[Encode, Decode]] = {
    **{name: (encode, Decoder[Any](kind)) for name, kind in KINDS.items()},
    **{name: (msgspec.json.encode, read) for name, read in IN_JSON.items()},
}
ROWS: dict[str, Any] = {
    "users": UserRow, "duplicates": DuplicateRow, "frontier": FrontierRow, "interests": LearnRow,
    "harvest": HarvestTableRow, "mark": Mark,
}  # fmt: skip


def codec(pin: Pin) -> tuple[Encode, Decode]:
    kind, _, name = pin.where.partition("/")
    if kind == "topics":
        return TOPIC_CODECS.get(pin.name) or TOPIC_CODECS[name]
    if pin.name == "record":  # of the embedded log, which is no struct
        return lambda entry: encode_record(*entry[1:]), lambda data: decode_record(7, data)
    rows: Codec[Any] = Codec(TopicMeta if kind == "journal" else ROWS[name])
    return rows.encode, rows.decode


CHANGED = """\
{place}: other bytes or fields than those pinned.
If all that changed is that fields with defaults were appended, and the example has other values in them,
replace its line in {file} by

{line}

Anything else is no compatible change: docs/upgrades.md says what it takes.
"""


def example(pin: Pin) -> Any:
    return codec(pin)[1](pin.bytes[0])


@each_case("pin", PINS)
def test_every_form_is_written_in_the_bytes_that_are_pinned_and_read_as_it_was_meant(pin: Pin) -> None:
    write, read = codec(pin)
    found = example(pin)
    changed = CHANGED.format(
        place=f"{pin.where} {pin.name}", file=FILE.name, line=line(pin, write(found), found)
    )
    assert (write(found), named(found)) == (pin.bytes[0], pin.fields), changed
    for older in pin.bytes[1:] if pin.name != "record" else ():
        plain = json.loads if older.startswith(b"{") else msgspec.msgpack.decode
        # Topics and tables hold it as it was written then, and workers of the last release write it so.
        assert extends(plain(write(read(older))), plain(older)), f"{pin.where} {pin.name} {older!r}"


def extends(new: Any, old: Any) -> bool:
    """Tell whether ``new`` is ``old`` but for fields at the end."""
    if isinstance(old, list) and isinstance(new, list):
        return len(new) >= len(old) and all(map(extends, new, old))
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and extends(new[key], old[key]) for key in old)
    return bool(new == old)


def test_rows_that_changed_are_a_format_of_their_own() -> None:
    """Older directories are refused by the format: what their rows lack can't be told from what is 0 there."""
    rows = [pin for pin in PINS if not pin.where.startswith("topics/")]
    digest = sha256(b"".join(value for pin in rows for value in pin.bytes)).hexdigest()[:16]
    assert (FORMAT, digest) == (b"9", "424b38ae05f28a38"), (
        "the rows, or the journal's records, are not those of this format: raise FORMAT in "
        f"streams/transport/database.py, and put it here with {digest}"
    )


def test_every_topic_record_table_and_row_has_an_example() -> None:
    assert set(RECORDS) == {topic.name for topic in TOPICS} - {PROXY_LOG.name}
    assert set(TOPIC_CODECS) <= set(RECORDS) | {pin.name for pin in PINS}
    assert set(ROWS) == set(TABLES) | {"mark"}
    seen = {type(each) for pin in PINS for each in structs(example(pin))}
    kinds = {kind for row in ROWS.values() for kind in get_args(row) or (row,)}
    for module in (facts, published, records):
        kinds |= {
            kind
            for name, kind in vars(module).items()
            if isinstance(kind, type)
            and issubclass(kind, msgspec.Struct)
            and kind.__module__ == module.__name__
            if not name.startswith("_") and kind is not records.Record
        }
    # Of an outcome, which has an example, `Counted` reads a part.
    assert kinds - seen == {published.Counted}, f"add one to {FILE.name}"


def test_what_is_counted_of_an_outcome_is_what_the_outcome_says() -> None:
    of_outcome, of_counted = (msgspec.structs.fields(kind) for kind in (published.Outcome, published.Counted))
    known = {field.name: (field.type, field.default) for field in of_outcome}
    for value in RECORDS["outcomes"]:
        whole, told = (read(value) for read in (read_outcome, published.read_counted))
        ((offset, number, outcome),), ((*place, counted),) = whole.facts, told.facts
        assert (told.source, place, number) == (whole.source, [offset, 0], 0)
        assert outcome.origin == f"{outcome.origin.partition('@')[0]}@{offset}"
        assert whole.source in ("", outcome.origin.partition("@")[0])
        for field in of_counted:
            assert getattr(counted, field.name) == getattr(outcome, field.name)
            assert (field.type, field.default) == known[field.name]


def structs(value: Any) -> Iterator[msgspec.Struct]:
    """Yield every struct in a value."""
    if isinstance(value, msgspec.Struct):
        yield value
        value = [getattr(value, name) for name in value.__struct_fields__]
    for held in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        yield from structs(held)


@each_case("pin", STRUCTS)
def test_no_field_of_an_example_is_left_at_its_default(pin: Pin) -> None:
    for struct in structs(example(pin)):
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


@each_case("pin", STRUCTS)
@given(st.lists(additions, min_size=1, max_size=3).map(tuple))
def test_fields_that_a_later_release_appends_are_read_over(pin: Pin, added: tuple[Any, ...]) -> None:
    write, read = codec(pin)
    assert read(write(newer(example(pin), added))) == example(pin)


@each_case("pin", [pin for pin in PINS if pin.where.startswith("topics/")])
def test_a_record_of_an_unknown_version_is_an_error_that_names_it(pin: Pin) -> None:
    write, read = codec(pin)
    later = msgspec.structs.replace(example(pin), version=max(example(pin).version, records.VERSION) + 1)
    with pytest.raises((records.UnknownVersionError, ValueError), match=r"unknown version \d, expected \d"):
        read(write(later))


# facts of kinds that are not known


class Praised(msgspec.Struct, array_like=True, frozen=True, tag="praised"):
    """A kind of fact of a later release."""

    url: str
    stars: int


urls = st.text(max_size=20).map("http://a.test/{}".format)
times = st.floats(-6e10, 2e11)
known_facts = st.builds(Found, urls) | st.builds(Visited, urls, st.text(), times)
mixed = st.lists(known_facts | st.builds(Praised, st.text(), st.integers(0, 5)), min_size=1, max_size=12)
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


@given(known_facts, st.builds(Found, no_urls) | st.builds(Visited, urls, st.text(), no_times))
def test_a_fact_that_no_reader_could_use_is_left_out_alone(good: Any, bad: Any) -> None:
    facts = [(7, 0, bad), (7, 1, good)]
    with pytest.raises(UnknownFactsError, match="facts that can't be read, skipped: 1 of 2") as caught:
        Decoder[Any](SightingPack)(encode(Pack(source="pages/0", facts=facts)))
    assert caught.value.known == Pack(source="pages/0", facts=facts[1:])
    assert why(caught.value) == "unreadable"
    with pytest.raises(RecordError, match="not a Pack: Expected"):
        Decoder[Any](SightingPack)(encode(Pack(source="pages/0", facts=facts[:1])))


def test_unknown_evidence_is_told_apart_too_and_a_damaged_fact_of_a_known_kind_makes_no_pack() -> None:
    known = [fact for value in RECORDS["evidence"] for fact in Decoder[Any](EvidencePack)(value).facts]
    praise = (0, 1, Praised("http://a.test/", 5))
    with pytest.raises(UnknownFactsError) as caught:
        Decoder[Any](EvidencePack)(encode(Pack(facts=[*known, praise])))
    assert caught.value.known.facts == known
    with pytest.raises(RecordError, match="Expected `str`, got `int`") as damaged:
        Decoder[Any](SightingPack)(encode(Pack(facts=[(0, 0, ["found", 5]), praise])))
    assert not isinstance(damaged.value, UnknownFactsError)
