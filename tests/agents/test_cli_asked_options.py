"""An error that asks for an option names one that the command has."""

import re
from pathlib import Path

import pytest

from tests.agents.commands import printed, scentline

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
P = ("--predicate", 'p="a"')
SPORTS = ("--predicate", 'p=category("Sports")')
SEED = ("--seed", "http://a.test/")
KAFKA = ("--broker", "kafka://127.0.0.1:9")
OTHER = ("--data", "linkage", "--policy", "combined")
BEYOND = "missing/out"

#: Each with what it leaves out or has wrong.
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("crawl",),
    ("crawl", *P),
    ("crawl", "--predicate", "p"),
    ("crawl", *P, "--follow", *SEED),
    ("crawl", *P, *SEED, "--keep-up", "--budget", "5"),
    ("crawl", *P, "--follow", "--log", "-"),
    ("crawl", *P, "--seed", "ftp://a.test/"),
    ("crawl", *P, *SEED, "--archive", "missing.warc"),
    ("crawl", *P, *SEED, *OTHER),
    ("crawl", *SPORTS, *SEED),
    ("worker", "judge"),
    ("worker", "judge", *KAFKA, *SPORTS),
    ("worker", "judge", *KAFKA, "--predicate", "p"),
    ("worker", "judge", *KAFKA, *OTHER),
    ("lag",),
    ("snapshot",),
    ("topics", "create"),
    ("topics", "check"),
    ("evaluate", "--archive", "empty.warc", "--out", "evaluation"),
    ("evaluate", "--archive", "empty.warc", "--out", "evaluation", *P, "--policy", "best"),
    ("evaluate", "--archive", "empty.warc", "--out", "evaluation", *P, "--policy", "semantic"),
    ("evaluate", "--archive", "empty.warc", "--out", "evaluation", *P, "--reuse"),
    ("evaluate", "--archive", "missing.warc", "--out", "evaluation", *P),
    ("evaluate", "--archive", "empty.warc", "--out", "evaluation", *SPORTS),
    ("evaluate", "--archive", "empty.warc", "--out", "empty.warc", *P),
    ("evaluate", "--archive", "empty.warc", "--out", ".", *P),
    ("matches", "p", "--data", "linkage", "--format", "csv", "--out", BEYOND),
    ("depth", "--out", "depth"),
    ("depth", "empty.log", "--site", "a b", "--out", "depth"),
    ("patterns", "empty.log", "--out", "patterns"),
    ("patterns", "empty.log", "--site", "a b", "--out", "patterns"),
    ("patterns", "empty.log", "--archive", "missing.warc", "--out", "patterns"),
    ("news", "empty.log", "--out", "news"),
    ("order", "empty.warc", "--topic", "two words", "--out", "order"),
    ("classifier", "train", "urls.tsv", "--out", "trained"),
    ("classifier", "train", "urls.tsv", "--archive", "missing.warc", "--out", "trained"),
    ("forget-user", "--pseudonym", "x"),
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("empty.warc", "empty.log"):
        (tmp_path / name).touch()
    (tmp_path / "urls.tsv").write_text("http://a.test/\tSports\nhttp://b.test/\tArts\n")
    (tmp_path / "linkage").mkdir()
    (tmp_path / "linkage" / "policy").write_text("linkage")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_error_names_no_option_that_the_command_has_not(place: Path, command: tuple[str, ...]) -> None:
    ended = scentline(place, *command)
    assert ended.returncode == 2, ended.stderr
    asked = set(OPTION.findall(ended.stderr.splitlines()[-1]))
    name = command[:2] if command[0] in ("topics", "classifier") else command[:1]
    assert asked <= set(OPTION.findall(printed(place, *name, "--help")))


@pytest.mark.parametrize("command", ["crawl", "worker", "evaluate"])
def test_who_judges_categories_is_told_what_tells_them(place: Path, command: str) -> None:
    own = {"crawl": SEED, "worker": ("all", *KAFKA), "evaluate": ("--archive", "empty.warc", "--out", "out")}
    ended = scentline(place, command, *own[command], *SPORTS)
    assert "give --labels TSV" in ended.stderr


def test_a_worker_takes_what_a_crawl_takes_but_for_its_beginning_and_its_end(tmp_path: Path) -> None:
    crawl, worker = (
        set(OPTION.findall(printed(tmp_path, command, "--help"))) for command in ("crawl", "worker")
    )
    beside = {"--follow", "--keep-up", "--window", "--join", "--quiet", "--json"}
    assert crawl - worker == {"--seed", "--log", "--site", "--archive", *beside}
    assert worker <= crawl
