"""``python -m bench.packages``: an archive of sites that nothing was tuned on, of what Debian packages.

Each package is a site, with a host of its own. Its pages are those that links lead to from its front page, all
of them or, with ``--most``, the first of them breadth first: links beyond are dead then, and only breadth-first
never meets them.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from lxml import html

from scentline.agents.offline.archive import Answer
from scentline.models.url import canonical
from scentline_lab.synthetic.web import record

#: Books and handbooks, and the manuals of libraries and tools, by package: the front page.
SITES = {
    "handbooks": {
        "anarchism": "usr/share/doc/anarchism/html/index.html",
        "bacula-doc": "usr/share/doc/bacula-doc/html/main/index.html",
        "csound-doc": "usr/share/doc/csound-doc/html/index.html",
        "debian-reference-en": "usr/share/debian-reference/index.en.html",
        "exim4-doc-html": "usr/share/doc/exim4-doc-html/spec_html/index.html",
        "gimp-help-en": "usr/share/gimp/2.0/help/en/index.html",
        "grass-doc": "usr/share/doc/grass-doc/html/index.html",
        "harden-doc": "usr/share/doc/harden-doc/html/en-US/index.html",
        "installation-guide-amd64": "usr/share/doc/installation-guide-amd64/en/index.html",
        "lilypond-doc-html": "usr/share/doc/lilypond/html/Documentation/notation/index.html",
        "maxima-doc": "usr/share/doc/maxima-doc/html/maxima_toc.html",
        "ntpsec-doc": "usr/share/doc/ntpsec-doc/html/index.html",
        "privoxy": "usr/share/doc/privoxy/user-manual/index.html",
        "rsyslog-doc": "usr/share/doc/rsyslog-doc/html/index.html",
        "vim-doc": "usr/share/doc/vim/html/index.html",
    },
    "manuals": {
        "buildbot-doc": "usr/share/doc/buildbot/html/index.html",
        "cmake-doc": "usr/share/doc/cmake-data/html/index.html",
        "gnuplot-doc": "usr/share/doc/gnuplot/htmldocs/index.html",
        "haproxy-doc": "usr/share/doc/haproxy/lua/index.html",
        "libcairo2-doc": "usr/share/gtk-doc/html/cairo/index.html",
        "libvirt-doc": "usr/share/doc/libvirt-doc/html/index.html",
        "python-celery-doc": "usr/share/doc/python-celery-doc/html/index.html",
        "python-scrapy-doc": "usr/share/doc/python-scrapy-doc/html/index.html",
        "python-sqlalchemy-doc": "usr/share/doc/python-sqlalchemy-doc/html/index.html",
        "python-sympy-doc": "usr/share/doc/python-sympy-doc/html/index.html",
        "python-werkzeug-doc": "usr/share/doc/python-werkzeug-doc/html/index.html",
        "twisted-doc": "usr/share/doc/twisted-doc/html/index.html",
        "varnish-doc": "usr/share/doc/varnish/html/index.html",
    },
}


def main() -> None:
    """Parse the command line, fetch the packages with apt-get, and write pages.warc.gz and seeds.txt."""
    parser = argparse.ArgumentParser(prog="bench.packages")
    parser.add_argument("--of", choices=tuple(SITES), required=True, help="sites to take")
    parser.add_argument("--out", type=Path, required=True, help="directory for the files")
    parser.add_argument("--most", type=int, help="pages of a site at most; all of them")
    given = parser.parse_args()
    sites = SITES[given.of]
    given.out.mkdir(parents=True, exist_ok=True)
    seeds = []
    with tempfile.TemporaryDirectory() as directory, (given.out / "pages.warc.gz").open("wb") as file:
        work = unpack(Path(directory), sites)
        for package, front in sites.items():
            found = pages(work / package / front, f"http://{package}.held.test/")
            site = list(islice(found, given.most))
            seeds.append(site[0][0])
            for url, body in site:
                file.write(record(url, Answer(200, (("Content-Type", "text/html"),), body)))
            print(f"{package}: {len(site)} pages", flush=True)
    (given.out / "seeds.txt").write_text("".join(f"{url}\n" for url in seeds), encoding="utf-8")


def pages(front: Path, base: str) -> Iterator[tuple[str, bytes]]:
    """Yield the URLs and the bytes of a site's pages, breadth first.

    ``base`` is the URL of the directory that the front page lies in, and the site with it.
    """
    root, first = front.parent, base + front.name
    waiting, known = [first], {first}
    for url in waiting:  # which grows meanwhile
        body = (root / unquote(url.removeprefix(base))).read_bytes()
        yield url, body
        for anchor in html.fromstring(body).iter("a"):
            found = canonical(anchor.get("href", ""), url)
            if found is None or not found.startswith(base):
                continue
            path = root / unquote(found.removeprefix(base))
            if found not in known and path.suffix in (".html", ".htm") and path.is_file():
                known.add(found)
                waiting.append(found)


def unpack(directory: Path, packages: Iterable[str]) -> Path:
    """Fetch packages of Debian, and unpack each into a directory of its name."""
    _run(directory, "apt-get", "download", "--quiet", *packages)
    for package in packages:
        _run(directory, "dpkg-deb", "--extract", str(next(directory.glob(f"{package}_*.deb"))), package)
    return directory


def _run(directory: Path, *command: str) -> None:
    subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - Debian's own tools


if __name__ == "__main__":
    main()
