"""The commands that come first: one begins a file of settings, the other shows what a crawl sees of a page."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from scentline.agents.cli.options import Given, command
from scentline.agents.cli.output import print_json, print_table, writing

if TYPE_CHECKING:
    from scentline.agents.judge.question import Seen
    from scentline.agents.operate.trying import Look
    from scentline.streams.settings import Settings

#: Characters of a text, and links, that people are shown; JSON has all.
_TEXT, _LINKS = 500, 20


@command(
    "init",
    "scentline init topic",
    "scentline init data-set --seed https://www.example.org/ --contact you@YOUR.SITE --out data-set.toml",
)
def init(
    use: Annotated[
        Literal["topic", "watch-list", "data-set", "proxy-log"],
        typer.Argument(help="What the crawl is for."),
    ],
    seeds: Annotated[
        list[str] | None, typer.Option("--seed", metavar="URL", help="Page to start from; repeatable.")
    ] = None,
    contact: Annotated[
        str | None, typer.Option("--contact", metavar="URL|MAIL", help="Where site owners reach you.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write.")] = Path("scentline.toml"),
) -> None:
    """Write a commented file of settings for a crawl, and print what to type next. It replaces no file."""
    from scentline.agents.operate.starting import beginning

    text, commands = beginning(use, seeds or (), contact)
    with writing(out), out.open("x", encoding="utf-8") as file:
        file.write(text)
    typer.echo(f"{out} is written: adapt it, then type")
    for line in commands:
        typer.echo(f"    {line}")


@command(
    "judge",
    'scentline judge http://example.org/tea --predicate \'tea="tea" and not lang("de")\'',
    "scentline judge http://example.org/tea --set 'extract.heading=css:h1::text' --json",
    takes=("judge", "json"),
)
def judge(
    given: Given,
    places: Annotated[
        list[str], typer.Argument(metavar="URL|FILE...", help="Pages: of the web, or saved in files.")
    ],
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Where the page of a FILE comes from.")
    ] = None,
) -> None:
    """Print what a crawl sees of pages: text, links, each predicate with the part that decides it, each field.

    Nothing is kept. robots.txt and delays hold as in a crawl. --json prints everything, a line for each page.
    Exits with status 1 if a page is missing.
    """
    from scentline.agents.operate.trying import looks

    settings, missing = given.settings(), list[str]()

    async def show() -> None:
        async for look in looks(settings, places, url):
            missing.extend([look.place] if look.missing else [])
            if given.form == "json":
                print_json({**look._asdict(), "seen": look.seen and _as_dict(look.seen)})
            else:
                _print(look, settings)

    asyncio.run(show())
    if missing:
        raise typer.Exit(1)


def _as_dict(seen: "Seen") -> dict[str, object]:
    import msgspec

    return msgspec.structs.asdict(seen)


def _print(look: "Look", settings: "Settings") -> None:
    from scentline.streams.logging import printable

    for line in _lines(look):
        typer.echo(printable(line, _TEXT))
    if (seen := look.seen) is None:
        return
    if seen.decided:
        judged = ((name, "yes" if holds else "no", *seen.decided[name]) for name, holds in seen.verdict.items())
        print_table(("predicate", "holds", "decided by", "words found"), judged)
    if settings.extract:
        print_table(("field", "value"), ((name, seen.extract.get(name, "-")) for name in settings.extract))
    if (count := len(seen.links)) > 0:
        print_table(("link" if count <= _LINKS else f"link, of {count}", "text"), seen.links[:_LINKS])


def _lines(look: "Look") -> Iterator[str]:
    """Yield what is no table."""
    yield look.place
    if look.url != look.place:
        yield f"url: {look.url}"
    seen = look.seen
    if seen is None:
        yield f"no page: {look.missing}"
        return
    if seen.barred:
        yield f"a crawl refuses it: {seen.barred}"
    elif look.scripts:
        yield "rendered: it needs scripts"
    if seen.failure:
        yield seen.failure
    yield f"title: {seen.title or '-'}"
    yield f"language: {seen.language or '-'}"
    yield f"headings: {' | '.join(seen.headings) or '-'}"
    yield f"text: {seen.text or '-'}"
