"""URLFrontier's service over a door: for StormCrawler, and whatever else speaks its gRPC.

What differs from URLFrontier's own service is in docs/doors.md. Its clients have no token: it is for a loopback
address only.
"""

import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from scentline.agents.door.agent import DoorAgent
from scentline.agents.door.crawl import DEFAULT, LISTED, Crawl, Crawls, ElsewhereError, Given, Run, gathered
from scentline.agents.door.listing import Listing, counted, due_of
from scentline.agents.door.metadata import metadata_of
from scentline.agents.door.proto import CALLS, SERVICE, SKIPPED, message, shape_of
from scentline.agents.fetch.guard import is_this_machine
from scentline.models.errors import ScentlineError
from scentline.models.frontier.keys import Rows, memo_of
from scentline.models.frontier.rows import OPEN, PageRow
from scentline.models.published import Limit, Pausing, Slowing, Steering
from scentline.models.url import canonical, host
from scentline.streams.settings import ConfigurationError, Settings

CRAWLS: Final = "crawls"  #: The directory of further crawls, in the data.
#: Hosts that DeleteCrawl excludes at most.
MOST_DELETED = 100


class UnknownError(ScentlineError):
    """There is no such URL."""

    code = "NOT_FOUND"


class URLFrontier:
    """Answers calls: a public method is the call of its name, and None an empty answer."""

    def __init__(self, crawls: Crawls, delay: float) -> None:
        self._crawls = crawls
        self._delay = delay

    # URLs

    async def GetURLs(self, call: Any) -> AsyncIterator[Any]:
        for name in [call.crawlID] if call.crawlID else list(self._crawls.names()):
            crawl = await self._crawls.find(name)
            for parked in () if crawl is None else await crawl.lease(call):
                yield _info(parked.order.url, parked.order.memo, name)

    async def PutURLs(self, items: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for batch in gathered(items):
            given = [_given(item) for item in batch]
            for item, (info, _), status in zip(batch, given, await self._put(given), strict=True):
                yield message("AckMessage")(ID=item.ID or info.url, status=status)

    async def PutDiscovered(self, batches: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for batch in batches:
            statuses = await self._put([(info, None) for info in batch.items])
            yield message("BatchAck")(ID=batch.ID, statuses=statuses)

    async def _put(self, given: Sequence[Given]) -> list[int]:
        """Take URLs; return the status of each."""
        statuses = dict.fromkeys(range(len(given)), SKIPPED)
        for name in dict.fromkeys(info.crawlID for info, _ in given):
            crawl = await self._crawls.find(name, begin=True)
            if crawl is not None:
                statuses |= await crawl.put({
                    place: each for place, each in enumerate(given) if each[0].crawlID == name
                })  # fmt: skip
        return list(statuses.values())

    # what is known

    async def GetURLStatus(self, call: Any) -> Any:
        crawl, url = await self._crawls.find(call.crawlID), canonical(call.url)
        found = None if crawl is None or url is None else await crawl.seen.find(url)
        if found is None:
            raise UnknownError("no such URL")
        return _item(*found, call.crawlID)

    async def ListURLs(self, call: Any) -> AsyncIterator[Any]:
        place, end = 0, call.start + (call.size or LISTED)
        async for shard, row in self._rows(call):
            if place >= end:
                return
            if place >= call.start:
                yield _item(shard, row, call.crawlID)
            place += 1

    async def CountURLs(self, call: Any) -> Any:
        return message("Long")(value=await counted(self._rows(call)))

    async def GetStats(self, call: Any) -> Any:
        crawl = await self._crawls.find(call.crawlID)
        size, hosts, done = 0, set(), 0
        async for _, row in self._rows(call):
            hosts.add(host(row.url))
            size, done = size + (row.state in OPEN), done + (row.state not in OPEN)
        return message("Stats")(
            size=size, inProcess=crawl.door.held(call.key) if crawl is not None else 0,
            counts={"completed": done}, numberOfQueues=len(hosts), crawlID=call.crawlID or DEFAULT,
        )  # fmt: skip

    async def ListQueues(self, call: Any) -> Any:
        most = call.start + (call.size or LISTED)
        found = (await self._hosts(call.crawlID, most, closed=call.include_inactive))[call.start :]
        return message("QueueList")(values=found, start=call.start, size=len(found), crawlID=call.crawlID)

    async def ListCrawls(self, call: Any) -> Any:
        names = [name for name in list(self._crawls.names()) if await self._hosts(name, 1)]
        return message("StringList")(values=names)

    async def ListNodes(self, call: Any) -> Any:
        return message("StringList")(values=["localhost"])

    async def _hosts(self, name: str, most: int, *, closed: bool = True) -> list[str]:
        """Return hosts of a crawl, also such as have nothing left to fetch if ``closed``."""
        crawl = await self._crawls.find(name)
        return [] if crawl is None else await crawl.seen.hosts(closed=closed, most=most)

    async def _rows(self, call: Any) -> AsyncIterator[tuple[Rows, PageRow]]:
        """Yield the rows of URLs that a call is about."""
        crawl = await self._crawls.find(call.crawlID)
        fold: Callable[[str], str] = str.lower if getattr(call, "ignoreCase", False) else str
        part = fold(getattr(call, "filter", ""))
        if crawl is not None:
            async for shard, row in crawl.seen.rows(call.key):
                if part in fold(row.url):
                    yield shard, row

    # steering

    async def SetActive(self, call: Any) -> None:
        for name in list(self._crawls.names()):
            await self._steer(name, Pausing(on=not call.state))

    async def GetActive(self, call: Any) -> Any:
        return message("Boolean")(state=self._crawls.own.door.state() != "paused")

    async def SetDelay(self, call: Any) -> None:
        if not call.key or not 0 < call.delay_requestable <= self._delay:  # which every host has
            await self._steer(call.crawlID, Slowing(name=call.key, seconds=float(call.delay_requestable)))

    async def BlockQueueUntil(self, call: Any) -> None:
        crawl = await self._crawls.find(call.crawlID)
        if crawl is not None:
            crawl.door.leases.block(call.key, float(call.time))

    async def SetCrawlLimit(self, call: Any) -> None:
        if call.key:
            raise ElsewhereError("the limit of a host is the setting frontier.host_budget")
        await self._steer(call.crawlID, Limit(name="pages", most=call.limit))

    async def SetLogLevel(self, call: Any) -> None:
        """Change nothing: the setting log.level is its operator's."""

    async def DeleteQueue(self, call: Any) -> Any:
        crawl = await self._crawls.find(call.crawlID)
        return message("Long")(value=0 if crawl is None or not call.key else await crawl.seen.exclude(call.key))

    async def DeleteCrawl(self, call: Any) -> Any:
        crawl, found = await self._crawls.find(call.value), 0
        if crawl is self._crawls.own:
            hosts = await self._hosts(DEFAULT, MOST_DELETED + 1)
            if len(hosts) > MOST_DELETED:
                raise ElsewhereError(
                    f"a crawl of more than {MOST_DELETED} hosts; its operator removes its directory"
                )
            found = sum([await crawl.seen.exclude(name) for name in hosts])
        elif crawl is not None:
            found = await counted(crawl.seen.rows())
            await self._crawls.delete(call.value)
        return message("Long")(value=found)

    async def PurgeURLs(self, call: Any) -> None:
        raise ElsewhereError("URLs are kept, as each is fetched once")

    async def _steer(self, name: str, asked: Steering) -> None:
        crawl = await self._crawls.find(name)
        if crawl is not None:
            await crawl.seen.steer(asked)


def _given(item: Any) -> Given:
    known = item.known if item.HasField("known") else None
    return (item.discovered.info, None) if known is None else (known.info, known.refetchable_from_date)


def _info(url: str, memo: str, crawl: str) -> Any:
    found = message("URLInfo")(url=url, key=host(url), crawlID=crawl or DEFAULT)
    for name, values in metadata_of(memo).items():
        found.metadata[name].values.extend(values)
    return found


def _item(shard: Rows, row: PageRow, crawl: str) -> Any:
    info = _info(row.url, memo_of(shard, row.url).memo, crawl)
    return message("URLItem")(
        known=message("KnownURLItem")(info=info, refetchable_from_date=due_of(shard, row))
    )


@asynccontextmanager
async def serving_urlfrontier(
    settings: Settings, door: DoorAgent, listing: Listing | None = None, run: Run | None = None
) -> AsyncIterator[None]:
    """Serve a door's crawl where ``door.urlfrontier`` says, if it does, and further ones that ``run`` runs.

    Raises `ConfigurationError`.
    """
    address = settings.door.urlfrontier
    if not address:
        yield
        return
    name = address.rpartition(":")[0]
    if not is_this_machine(name.strip("[]")):
        raise ConfigurationError(f"door.urlfrontier {address}: it has no token; expected a loopback address")
    crawls = Crawls(Crawl(door, listing), settings.data / CRAWLS, settings.door.crawls, run)
    service = URLFrontier(crawls, settings.fetch.delay_seconds)
    # Its handlers of forks can stop it for ever when a process is started, as the judge's is.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    try:
        import grpc

        handlers = {call: _handler(call, getattr(service, call)) for call in CALLS}
    except ModuleNotFoundError as error:
        missing = "expected what pip install 'scentline[urlfrontier]' installs"
        raise ConfigurationError(f"door.urlfrontier: there is no {error.name}; {missing}") from error
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise ConfigurationError(f"opening door.urlfrontier {address}: expected a free port") from error
    async with crawls:
        await server.start()
        try:
            sys.stderr.write(f"URLFrontier: {name}:{port}\n")
            yield
        finally:
            await server.stop(0)


def _handler(name: str, call: Callable[..., Any]) -> Any:
    """Return what serves a call; its errors are statuses."""
    import grpc

    @asynccontextmanager
    async def refusing(context: Any) -> AsyncIterator[None]:
        try:
            yield
        except ScentlineError as error:
            await context.abort(grpc.StatusCode[getattr(error, "code", "FAILED_PRECONDITION")], str(error))

    async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
        async with refusing(context):
            async for each in call(request):
                yield each

    async def one(request: Any, context: Any) -> Any:
        async with refusing(context):
            return await call(request) or write()

    kind, read, write = shape_of(name)
    handler = getattr(grpc, f"{kind}_rpc_method_handler")
    return handler(one if kind == "unary_unary" else stream, read.FromString, write.SerializeToString)
