"""``scentline serve-archive``: serve a recorded web to crawlers, as a forward proxy."""

from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import command


@command("serve-archive", "scentline serve-archive pages.warc.gz --log served.log")
def serve_archive(
    paths: Annotated[list[Path], typer.Argument(metavar="PAGES.warc.gz...", help="WARC files.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 0,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append each request to this file, in Squid's format.")
    ] = None,
) -> None:
    """Serve WARC files under their original hosts, as an HTTP forward proxy, until Ctrl-C.

    Point a crawl at it with --set fetch.proxy=http://127.0.0.1:PORT.
    """
    import asyncio

    from scentline.agents.cli.options import load_settings
    from scentline.agents.offline.serve import serve_archive as serve

    load_settings(None, None)

    def ready(url: str) -> None:
        typer.echo(f"serving {len(paths)} archives as a forward proxy on {url}")

    try:
        asyncio.run(serve(paths, host, port, log, ready))
    except KeyboardInterrupt:
        return
    except OSError as error:
        raise CommandError(f"can't serve the archives: {error}") from error
