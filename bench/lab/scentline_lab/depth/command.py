"""What the depth command does: read, fetch without a network, work out, write."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scentline.agents.observe.site import observed, site_named
from scentline.agents.progress import Progress, progress
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline_lab.depth.figures import Result, result, write_tables
from scentline_lab.depth.picture import draw
from scentline_lab.depth.reading import Places, Sites, fetch_archives, fetch_graph, read_log
from scentline_lab.output import OutputDirectory
from scentline_lab.reading import LogReader

#: Characters of a file's name: a host may have more than file systems take.
_LONGEST = 200
_UNSAFE = re.compile(r"[^a-z0-9._-]+")
#: Sites that get a picture: those with the most views.
PICTURES = 20


@dataclass(frozen=True)
class Options:
    """What to look at, and the share of page views that is wanted."""

    logs: tuple[str, ...]
    archives: tuple[Path, ...]
    graphs: tuple[Path, ...]
    site: str | None
    share: float


@dataclass(frozen=True)
class Outcome:
    """The sites' figures, the most viewed first; how many lines were read, and what of them was passed over."""

    results: tuple[Result, ...]
    lines: int
    passed: dict[str, int]
    interrupted: bool


class Output(OutputDirectory):
    """The output directory of ``scentline depth``.

    The tables have a row for each site, for each level of a site, for the moves from each level, and for the
    pages in so many directories.
    """

    command = "depth"
    files = ("sites.csv", "levels.csv", "moves.csv", "directories.csv")
    directories = ("sites",)

    def picture(self, name: str) -> Path:
        """Return the picture of a site."""
        return self.directory / "sites" / f"{_UNSAFE.sub('-', name.lower())[:_LONGEST]}.png"


def run(settings: Settings, options: Options, out: Path | None) -> Outcome:
    """Work out the depth of each site, and write tables and pictures into ``out``.

    An interrupt ends the reading; what was read until then is worked out and written all the same. Raises what
    is wrong with the options before anything is read, and what can't be read.
    """
    _check(options)
    site = None if options.site is None else site_named(options.site)
    output = Output.prepared(out)
    sites = Sites()
    places = Places(None if site is None else site.host)
    with progress(sys.stderr) as bars:
        reader = LogReader(observed(settings.observe, site), bars, everywhere=site is not None)
        interrupted = _read(settings, options, places, sites, reader, bars)
        results = tuple(result(name, sites.known[name], options.share) for name in sites.largest())
        if output is not None:
            _write(output, results, bars)
    return Outcome(results, reader.lines, dict(sites.passed) | reader.passed, interrupted)


def _check(options: Options) -> None:
    if not (options.logs or options.archives or options.graphs):
        raise ConfigurationError("depth needs something to read: a LOG, --archive WARC or --graph FILE")
    for path in (*options.archives, *options.graphs):
        if not path.is_file():
            raise ConfigurationError(f"{path}: there is no such file")


def _read(
    settings: Settings, options: Options, places: Places, sites: Sites, reader: LogReader, bars: Progress
) -> bool:
    """Read everything, and tell whether that was interrupted."""
    interrupted = False
    try:
        if options.archives:
            fetch_archives(options.archives, settings, places, sites, bars)
        for path in options.graphs:
            fetch_graph(path, places, sites, bars)
        for log in options.logs:
            read_log(log, reader, places, sites)
    except KeyboardInterrupt:
        interrupted = True
    sites.finish()
    return interrupted


def _write(output: Output, results: Sequence[Result], bars: Progress) -> None:
    write_tables(output, results)
    shown = [found for found in results if found.fits or found.site.growth.pages][:PICTURES]
    bars.phase("draw the sites", len(shown))
    for found in shown:
        draw(output.picture(found.name), found)
        bars.advance()
