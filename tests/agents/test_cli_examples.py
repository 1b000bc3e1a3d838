"""Each command's help has examples, and each of them works as it stands."""

import gzip
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scentline.agents.cli import load_commands
from scentline.agents.cli.app import app
from scentline.agents.offline.serve import ServerProcess
from scentline.agents.operate.control import submit
from scentline.models.published import Exclusion
from scentline.streams.settings import Settings
from scentline_lab.synthetic.web import SyntheticWeb, export
from tests.agents.commands import printed, program, typed
from tests.agents.test_archive import page, write
from tests.agents.test_changes import a_change, tell
from tests.agents.test_cli_lines import commands
from tests.agents.word_tables import write_model

EXAMPLES = load_commands()
#: Those that run until they are stopped, or too long for a test.
STOPPED = {
    "scentline demo", "scentline demo --out short --budget 200 --json", "scentline semantic build",
    "scentline feed /var/log/squid/access.log --follow", "scentline window",
    "scentline serve-archive pages.warc.gz --log served.log",
    "scentline snapshot --broker kafka://localhost:9092 --data mirror --follow",
    "scentline window --data hockey-data --port 8500 --read-only",
}  # fmt: skip
#: Those that name a broker are run on one, in tests/kafka/test_crawl.py.
LINES = [
    line for lines in EXAMPLES.values() for line in lines if line not in STOPPED and "kafka://" not in line
]

TEXTS = {"a crawler follows links": "Crawling", "pour it hot into a cup": "Tea"}
HOME = b'<title>Example</title><p>About <a href="/crawlers">a crawler</a> and <a href="/tea">tea</a>.'
PAGES = {
    "http://example.org/": HOME,
    "http://example.org/crawlers": b"<title>Crawling the web</title><p>A crawler follows links.",
    "http://example.org/tea": b"<title>Tea</title><p>Pour it hot.",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory that holds what the examples name, a crawl's data among it."""
    directory = tmp_path_factory.mktemp("files")
    web = SyntheticWeb(3, 6, 20, 4)
    found = export(web, directory, users=5, accesses=100)
    # Of the web the pages alone are recorded: some links lead nowhere.
    answers = {url: web.answer(url, {}) for url, _ in web.labels()}
    records = [(url, "200 OK", list(answer.headers), answer.body) for url, answer in answers.items()]
    write(found["archive"], *records, *(page(url, body) for url, body in PAGES.items()))
    *_, last = web.access_log(5, 100)
    visit = f"{last.split()[0]} 5 192.0.2.{{}} TCP_MISS/200 512 GET {{}} - HIER_DIRECT/- text/html\n".format
    visits = "".join(visit(user, url) for user in range(1, 6) for url in PAGES)
    found["log"].write_bytes(found["log"].read_bytes() + gzip.compress(visits.encode()))
    (directory / "logs").mkdir()
    shutil.copy(directory / "access.log.gz", directory / "logs" / "monday.gz")
    links = "".join(f"{page // 3}\t{page}\n{page}\t{page % 5}\n" for page in range(1, 100)).encode()
    (directory / "links.tsv.gz").write_bytes(gzip.compress(links))
    examples = "".join(f"{text} {number}\t{name}\n" for number in range(6) for text, name in TEXTS.items())
    (directory / "examples.tsv").write_text(examples)
    (directory / "webs.toml").write_text(
        "budget = 30\n[webs.one]\narchives = ['pages.warc.gz']\npredicates = { tea = '\"tea\"' }\n"
    )
    write_model(directory / "potion-base-8M")
    printed(
        directory, "crawl", "--archive", "pages.warc.gz", "--log", "access.log.gz", "--labels", "topics.tsv.gz",
        "--seed", "http://example.org/", "--predicate", 'science=category("Science")', "--budget", "30",
    )  # fmt: skip
    printed(directory, "state", "export", "learned.state")
    submit(Settings(data=directory / "scentline-data"), Exclusion(prefix="http://example.org/shop/"))
    tell(directory / "scentline-data", a_change(1, predicate="science", time=time.time()))
    return directory


@pytest.fixture(scope="module")
def proxy(files: Path) -> Iterator[str]:
    with ServerProcess.archive([files / "pages.warc.gz"]) as server:
        yield server.url


@pytest.fixture
def cwd(files: Path, tmp_path: Path) -> Path:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    return tmp_path


#: So wide that no text is wrapped.
WIDE = {"COLUMNS": "300"}


def test_every_command_has_examples_in_its_help() -> None:
    assert set(EXAMPLES) == {"", *commands(program())}
    for command, lines in EXAMPLES.items():
        shown = CliRunner().invoke(app, [*command.split(), "--help"], env=WIDE).output
        assert [line for line in lines if line not in shown] == []
    assert "settings [window]" in CliRunner().invoke(app, ["window", "--help"]).output  # no markup
    assert "archive, pages come from WARC" in CliRunner().invoke(app, ["crawl", "--help"], env=WIDE).output


@pytest.mark.parametrize("line", LINES)
def test_an_example_works_as_it_stands(cwd: Path, proxy: str, line: str) -> None:
    if line.startswith("scentline crawl"):
        shutil.rmtree(cwd / "scentline-data")
    # example.org is the archive's: the open web is not asked.
    run = typed(cwd, line, SCENTLINE_FETCH__PROXY=proxy)
    assert run.returncode == 0, run.stderr
    assert "error" not in run.stderr
    assert run.stdout or line.startswith("scentline crawl")
    if line == EXAMPLES["crawl"][0]:
        assert re.search(r"^crawlers +1 ", run.stderr, re.MULTILINE)
    if "json" in line:
        assert json.loads(run.stdout.splitlines()[-1])
