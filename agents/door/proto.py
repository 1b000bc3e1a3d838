"""URLFrontier's interface: its messages and calls, with its names and field numbers, made at run time.

On the wire a field's kind is all that counts: an enumeration is an int32 here, and the fields of a oneof are
fields. So no generated code has to follow the versions of protobuf. Source: URLFrontier 2.6, urlfrontier.proto.
protobuf is imported where it is used: it comes with the extra scentline[urlfrontier].
"""

from functools import cache
from typing import Any, Final

PACKAGE: Final = "urlfrontier"
SERVICE: Final = f"{PACKAGE}.URLFrontier"
#: The statuses of an AckMessage: a skipped URL is not to be sent again, a failed one may be.
OK, SKIPPED, FAIL = 0, 1, 2

#: By message, its fields in the order of their numbers, from 1.
MESSAGES: Final = {
    "Empty": "",
    "AnyCrawlID": "",
    "Boolean": "bool state",
    "Local": "bool local",
    "Long": "uint64 value",
    "StringList": "repeated string values",
    "Active": "bool state, bool local",
    "DeleteCrawlMessage": "string value, bool local",
    "Stats": "uint64 size, uint32 inProcess, map uint64 counts, uint64 numberOfQueues, string crawlID",
    "Pagination": "uint32 start, uint32 size, bool include_inactive, string crawlID, bool local",
    "QueueList": "repeated string values, uint64 total, uint32 start, uint32 size, string crawlID",
    "QueueWithinCrawlParams": "string key, string crawlID, bool local",
    "QueueDelayParams": "string key, uint32 delay_requestable, string crawlID, bool local",
    "BlockQueueParams": "string key, uint64 time, string crawlID, bool local",
    "CrawlLimitParams": "string key, uint32 limit, string crawlID, bool local",
    "LogLevelParams": "string package, int32 level, bool local",
    "GetParams": "uint32 max_urls_per_queue, uint32 max_queues, string key, uint32 delay_requestable, "
    "AnyCrawlID anyCrawlID, string crawlID",
    "URLInfo": "string url, string key, map StringList metadata, string crawlID",
    "KnownURLItem": "URLInfo info, uint64 refetchable_from_date",
    "DiscoveredURLItem": "URLInfo info",
    "URLItem": "DiscoveredURLItem discovered, KnownURLItem known, string ID, uint64 creation_date",
    "AckMessage": "string ID, int32 status",
    "DiscoveredBatch": "string ID, repeated URLInfo items",
    "BatchAck": "string ID, repeated int32 statuses",
    "URLStatusRequest": "string url, string key, string crawlID",
    "ListUrlParams": "uint32 start, uint32 size, string key, string crawlID, bool local, string filter, "
    "bool ignoreCase",
    "CountUrlParams": "string key, string crawlID, string filter, bool ignoreCase, bool local",
    "PurgeUrlParams": "string key, string crawlID, uint32 days",
}  # fmt: skip

#: By call, its request and its answer, each one message or a stream of them.
CALLS: Final = {
    "ListNodes": ("Empty", "StringList"),
    "ListCrawls": ("Local", "StringList"),
    "DeleteCrawl": ("DeleteCrawlMessage", "Long"),
    "ListQueues": ("Pagination", "QueueList"),
    "GetURLs": ("GetParams", "stream URLInfo"),
    "PutURLs": ("stream URLItem", "stream AckMessage"),
    "PutDiscovered": ("stream DiscoveredBatch", "stream BatchAck"),
    "GetStats": ("QueueWithinCrawlParams", "Stats"),
    "DeleteQueue": ("QueueWithinCrawlParams", "Long"),
    "BlockQueueUntil": ("BlockQueueParams", "Empty"),
    "SetActive": ("Active", "Empty"),
    "GetActive": ("Local", "Boolean"),
    "SetDelay": ("QueueDelayParams", "Empty"),
    "SetLogLevel": ("LogLevelParams", "Empty"),
    "SetCrawlLimit": ("CrawlLimitParams", "Empty"),
    "GetURLStatus": ("URLStatusRequest", "URLItem"),
    "ListURLs": ("ListUrlParams", "stream URLItem"),
    "CountURLs": ("CountUrlParams", "Long"),
    "PurgeURLs": ("PurgeUrlParams", "Long"),
}


def shape_of(call: str) -> tuple[str, Any, Any]:
    """Return how a call is made, as in "unary_stream", and the classes of its request and its answer."""
    kinds = ("stream" if each.startswith("stream ") else "unary" for each in CALLS[call])
    request, answer = (message(each.removeprefix("stream ")) for each in CALLS[call])
    return "_".join(kinds), request, answer


@cache
def message(name: str) -> Any:
    """Return the class of a message."""
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


@cache
def _pool() -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

    # A pool of its own: a program may have URLFrontier's generated messages, too.
    file = FileDescriptorProto(name="scentline/urlfrontier.proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        made = file.message_type.add(name=name)
        for number, field in enumerate(filter(None, fields.split(", ")), 1):
            _add(made, number, *field.rsplit(" ", 2))
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _add(made: Any, number: int, *words: str) -> None:
    """Add a field: its label, if any, its kind and its name."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

    *label, kind, name = words
    entry = f"{name.capitalize()}Entry"
    if label == ["map"]:
        pair = made.nested_type.add(name=entry)
        pair.options.map_entry = True
        _add(pair, 1, "string", "key")
        _add(pair, 2, kind, "value")
        kind = f"{made.name}.{entry}"
    field = made.field.add(name=name, number=number)
    field.label = Field.LABEL_REPEATED if label else Field.LABEL_OPTIONAL
    if kind[0].isupper():
        field.type, field.type_name = Field.TYPE_MESSAGE, f".{PACKAGE}.{kind}"
    else:
        field.type = Field.Type.Value(f"TYPE_{kind.upper()}")
