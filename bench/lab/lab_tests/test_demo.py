"""The demo: two short crawls, their picture, their figures, and whose files it replaces."""

import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from lab_tests.files import PNG
from scentline.streams.transport.database import JournalInUseError
from scentline.streams.transport.journal import Journal
from scentline_lab.demo import LEARNED, POLICIES, PREDICATES, Crawled, DemoOutput, judged
from tests.agents.commands import last_line, printed, running, wait_until
from tests.patience import PATIENCE

BUDGET = 40


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run a short demo; return where, and what it printed."""
    cwd = tmp_path_factory.mktemp("demo")
    return cwd, printed(cwd, "demo", "--budget", str(BUDGET), "--random-seed", "5", "--json")


def test_the_figures_are_those_of_the_outcomes_and_every_file_is_named(demo: tuple[Path, str]) -> None:
    cwd, out = demo
    figures: dict[str, Any] = last_line(out)
    assert set(figures) == {"seconds", "crawls", "ratios", "files"}
    assert tuple(figures["crawls"]) == POLICIES
    for policy, crawled in figures["crawls"].items():
        pages = judged(cwd / "demo" / policy)
        assert crawled["fetched"] == len(pages) >= BUDGET
        assert {page.policy for page in pages} == {policy}
        for name, shown in crawled["predicates"].items():
            hits = sum(page.verdict[name] for page in pages)
            assert shown["hits"] == hits
            assert shown["harvest_rate"] == pytest.approx(hits / len(pages), abs=1e-4)
            assert Crawled(pages).rates(name)[-1] == hits / len(pages)
    baseline, learned = (figures["crawls"][policy]["predicates"] for policy in POLICIES)
    for name, ratio in figures["ratios"].items():
        assert f"\n{name}\t{PREDICATES[name]}\t" in out
        if baseline[name]["hits"]:
            rates = learned[name]["harvest_rate"], baseline[name]["harvest_rate"]
            assert ratio == pytest.approx(rates[0] / rates[1], rel=0.02, abs=0.02)
        else:
            assert ratio is None
    assert (cwd / "demo" / "lift.png").read_bytes().startswith(PNG)
    for file in figures["files"]:
        assert (cwd / file).exists()
        assert f"  {file} " in out


def test_the_commands_to_try_next_work(demo: tuple[Path, str]) -> None:
    cwd, out = demo
    commands = [line.strip() for line in out.splitlines() if line.startswith("  scentline ")]
    assert [command.split()[1] for command in commands] == ["matches", "window", "explain", "audit", "crawl"]
    matches, window, *others, _ = (shlex.split(command)[1:] for command in commands)
    for command in (matches, *others):
        assert printed(cwd, *command)
    with running(cwd, *window) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("The window: http://127.0.0.1:")


def test_a_demo_that_is_told_to_end_does_and_the_next_one_starts_anew(tmp_path: Path) -> None:
    with running(tmp_path, "demo", "--out", "out", "--budget", "100000") as process:
        wait_until((tmp_path / "out" / POLICIES[0] / "journal" / "CURRENT").exists, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.endswith("Interrupted. The next demo with the same --out starts over.\n")
    DemoOutput(tmp_path / "out").prepare()
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".scentline-demo"]


def test_another_demo_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    output = DemoOutput(tmp_path / "new" / "demo").prepare()
    output.path(LEARNED).mkdir()
    (output.path(LEARNED) / "row").touch()
    output.log.touch()
    output.path("notes.txt").touch()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").touch()
    output.path(POLICIES[0]).symlink_to(tmp_path / "mine")
    output.prepare()
    assert (tmp_path / "mine" / "thesis").exists(), "a link is not followed"
    kept = sorted(path.name for path in (tmp_path / "new" / "demo").iterdir())
    assert kept == [".scentline-demo", "notes.txt"]


def test_a_demo_that_a_crawl_uses_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_use(path: Path) -> None:
        raise JournalInUseError(str(path))

    output = DemoOutput(tmp_path).prepare()
    output.log.touch()
    (output.path(LEARNED) / "journal").mkdir(parents=True)
    monkeypatch.setattr(Journal, "open", in_use)
    with pytest.raises(JournalInUseError):
        output.prepare()
    assert output.log.exists()
