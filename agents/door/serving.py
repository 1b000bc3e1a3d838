"""Serving URLFrontier's gRPC. Its clients have no token: it is for a loopback address only."""

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from scentline.agents.door.agent import DoorAgent
from scentline.agents.door.crawl import Crawl
from scentline.agents.door.crawls import Crawls, Run
from scentline.agents.door.listing import Listing
from scentline.agents.door.proto import BOTH, CALLS, SERVICE, STREAMS, message
from scentline.agents.door.server import host_and_port, is_loopback
from scentline.agents.door.urlfrontier import URLFrontier
from scentline.models.errors import ScentlineError
from scentline.streams.settings import ConfigurationError, Settings

CRAWLS: Final = "crawls"  #: The directory of further crawls, in the data.


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
    name, _ = host_and_port(address)
    if not is_loopback(name):
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

    async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            async for each in call(request):
                yield each
        except ScentlineError as error:
            await context.abort(grpc.StatusCode[getattr(error, "code", "FAILED_PRECONDITION")], str(error))

    async def one(request: Any, context: Any) -> Any:
        try:
            return await call(request)
        except ScentlineError as error:
            await context.abort(grpc.StatusCode[getattr(error, "code", "FAILED_PRECONDITION")], str(error))

    kind = "stream_stream" if name in BOTH else "unary_stream" if name in STREAMS else "unary_unary"
    read, write = (message(each) for each in CALLS[name])
    handler = getattr(grpc, f"{kind}_rpc_method_handler")
    return handler(one if kind == "unary_unary" else stream, read.FromString, write.SerializeToString)
