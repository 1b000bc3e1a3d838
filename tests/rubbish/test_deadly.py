"""A page that hangs, eats memory or crashes where it is read costs that page alone, here and in a crawl."""

import asyncio
import json
import os
import signal
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from zstandard import ZstdCompressor

from bench.fuzz.corpus import CORPUS, content
from deploy.ports import free_port
from scentline.agents.judge.process import ExaminerProcess
from scentline.agents.judge.question import Examined, PageError, Question, Show, Work
from scentline.models.records import RecordError, encode
from scentline.streams.settings import ConfigurationError, Settings
from tests.agents.commands import printed, running, scentline
from tests.agents.test_keep import fetched
from tests.e2e.crawls import exact, options
from tests.patience import PATIENCE, wait_for
from tests.rubbish.crawling import matches
from tests.rubbish.deadly import installed
from tests.webs.serving import pages, serving

# a crawl

#: Seconds for an answer and for the end of a crawl, many more than either takes.
PROMPT = 30.0
#: What is said of each page that ends its process.
DEADLY = {
    "abort": "it ended the process that read it: SIGABRT", "kill": "it ended the process that read it: SIGKILL",
    "segfault": "it ended the process that read it: SIGSEGV",
    "exit": "it ended the process that read it: status 0", "loop": "over 3 seconds of CPU (judge.cpu_seconds)",
    "hold": "over 3 seconds of CPU (judge.cpu_seconds)",
}  # fmt: skip
FINE = ["fine", "print", "last"]
HOSTILE = [
    "combining-marks-out-of-order", "end-tags-of-another", "blocks-in-open-tags",
    "short-links-under-a-long-base", "parameters-of-sessions",
]  # fmt: skip


LINKS = "".join(f"<a href='/{each}'>page</a> " for each in (*DEADLY, *HOSTILE, *FINE))
PAGES = {
    "/": f"<title></title><p>{LINKS}".encode(),
    **{f"/{title}": f"<title>{title}</title><p>A page.".encode() for title in (*DEADLY, *FINE)},
    **{f"/{name}": content(CORPUS / "page" / f"{name}.xz") for name in HOSTILE},
}


def command(seed: str, **changed: object) -> list[str]:
    given = {"fetch.allow": "127.0.0.1", "fetch.delay_seconds": 0, "judge.python": "deadly", **changed}
    return ["crawl", "--seed", seed, "--predicate", 'told=category("Told")', *options(given)]


def test_deadly_and_hostile_pages_cost_themselves_alone(tmp_path: Path) -> None:
    path = installed(tmp_path)
    with serving(pages(PAGES)) as served:
        origin = f"{served.origin}/"
        ended = scentline(tmp_path, *command(origin, **{"judge.cpu_seconds": 3}), PYTHONPATH=path)
    assert ended.returncode == 0, ended.stderr
    judged = {url.removeprefix(origin) for url in matches(tmp_path, "told")}
    assert judged == {"", *FINE, *HOSTILE}
    letters = [json.loads(line) for line in printed(tmp_path, "dead-letters", "--json").splitlines()]
    assert sorted(letter["reason"] for letter in letters) == sorted(DEADLY.values())
    for name in DEADLY:
        assert "refused" in printed(tmp_path, "explain", f"{origin}{name}")
    exact(tmp_path, judged=len(judged))
    assert ended.stderr.count("a page could not be judged") == len(DEADLY)


def test_a_crawl_answers_and_ends_while_a_page_is_read_without_end(tmp_path: Path) -> None:
    port = free_port()
    endless = {"judge.cpu_seconds": 100_000, "judge.seconds": 100_000, "metrics.port": port}
    with serving(pages(PAGES)) as served:
        given = command(f"{served.origin}/hold", **endless)
        with running(tmp_path, *given, PYTHONPATH=installed(tmp_path)) as process:
            wait_for("the page without end", lambda: "/hold" in served.targets())
            for _ in range(10):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PROMPT) as found:
                    assert found.status == 200
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=PROMPT)
    assert "Traceback" not in said
    assert process.returncode in (0, -signal.SIGTERM, 130, 143), said


# the process that reads pages

ASKED = {"told": 'category("Told")', "any": '"deadly"'}
Use = Callable[[ExaminerProcess], Awaitable[None]]


def question(title: str, asked: dict[str, str] = ASKED) -> Question:
    page = fetched(1)
    page.body = ZstdCompressor().compress(f"<title>{title}</title><p>deadly words".encode())
    return Question(encode(page), asked)


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give what runs a test with an examiner in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", installed(tmp_path))
    monkeypatch.setenv("SCENTLINE_OBSERVE__USER_KEY", "a secret")

    def run(work: Use, **judge: object) -> None:
        given = {"python": "deadly", "seconds": PATIENCE, "cpu_seconds": 1, **judge}
        settings = Settings.model_validate({"judge": given})

        async def main() -> None:
            examiner = ExaminerProcess(Work.of(settings))
            try:
                await examiner.start()
                await work(examiner)
            finally:
                await examiner.close()

        asyncio.run(main())

    return run


async def told(examiner: ExaminerProcess, title: str) -> Examined:
    return await examiner.examine(question(title))


async def fine(examiner: ExaminerProcess) -> None:
    """See that the next page is examined as if nothing had been."""
    found = await told(examiner, "fine")
    assert (found.page.title, found.verdict) == ("fine", {"told": True, "any": True})


@pytest.mark.parametrize("title", ["fork", "leave"])
def test_what_is_left_holds_up_none(
    use: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    forked = tmp_path / "forked"
    monkeypatch.setenv("FORKED", str(forked))

    async def work(examiner: ExaminerProcess) -> None:
        await told(examiner, title)
        await fine(examiner)
        async with asyncio.timeout(PATIENCE / 2):  # it is there for longer
            await examiner.close()

    use(work)
    child = int(forked.read_text())
    if title == "leave":
        os.kill(child, signal.SIGKILL)  # it left the session: nobody knows of it
    else:
        wait_for("the end of what was forked", lambda: not runs(child))


def runs(process: int) -> bool:
    """Return whether a process is there that is not only waiting to be reaped."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_judge_that_waits_for_ever_is_cut_off_and_the_next_page_judged(use: Callable[..., None]) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        with pytest.raises(PageError, match=r"over 1 seconds \(judge.seconds\)"):
            await told(examiner, "sleep")
        await fine(examiner)

    use(work, seconds=1.0)


def test_memory_without_end_is_a_judge_that_fails_or_a_page_that_is_refused(use: Callable[..., None]) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        found = await told(examiner, "allocate")
        assert found.verdict == {"any": True}
        assert found.failure == "the judge of categories failed: MemoryError: "
        await fine(examiner)

    use(work, memory_bytes=100_000_000, cpu_seconds=60)


#: A drawing that draws itself twice.
ITSELF = b"""%PDF-1.7
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>> endobj
4 0 obj <</Length 6>>\nstream\n/X Do \nendstream\nendobj
5 0 obj <</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 11/Resources<</XObject<</X 5 0 R>>>>>>
stream\n/X Do /X Do\nendstream\nendobj
trailer <</Root 1 0 R>>"""


def test_a_pdf_that_takes_memory_without_end_costs_itself_alone(use: Callable[..., None]) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        with pytest.raises(PageError, match="it ended the process that read it: SIG"):
            await examiner.show(Show("http://a.test/", ITSELF))
        await fine(examiner)

    use(work, memory_bytes=100_000_000, cpu_seconds=60)


def test_a_judge_that_prints_disturbs_none(use: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        await told(examiner, "print")
        found = await examiner.examine(question("environment", {"none": 'category("None")'}))
        assert found.verdict == {"none": True}

    use(work)
    assert "print" not in "".join(capfd.readouterr())


def test_what_is_no_page_costs_no_process_and_one_that_is_killed_only_itself(use: Callable[..., None]) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        child = examiner._child
        with pytest.raises(RecordError, match="not a FetchedPage"):
            await examiner.examine(Question(b"no page", ASKED))
        await fine(examiner)
        assert child is not None and examiner._child is child
        task = asyncio.create_task(told(examiner, "sleep"))
        while not examiner._lock.locked():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await fine(examiner)
        assert examiner._child is not None
        os.kill(examiner._child.pid, signal.SIGKILL)
        await fine(examiner)

    use(work)


def test_a_judge_that_is_not_there_is_said_at_the_start(use: Callable[..., None]) -> None:
    with pytest.raises(ConfigurationError, match=r"offers the judge 'missing'; there are: .*deadly"):
        use(fine, python="missing")


def test_the_process_dies_with_the_one_that_started_it(use: Callable[..., None]) -> None:
    async def begin(examiner: ExaminerProcess) -> None:
        task = asyncio.create_task(told(examiner, "hold"))
        await asyncio.sleep(0.5)
        assert examiner._child is not None and not task.done()
        os.write(writing, str(examiner._child.pid).encode())
        os.kill(os.getpid(), signal.SIGKILL)

    reading, writing = os.pipe()
    parent = os.fork()
    if not parent:
        use(begin, cpu_seconds=100_000)
    os.waitpid(parent, 0)
    child = int(os.read(reading, 20))
    for end in (reading, writing):
        os.close(end)
    wait_for("the end of the process", lambda: not runs(child))
