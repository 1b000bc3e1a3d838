"""Tables of word vectors on the command line: made of a static model, taken by evaluations and crawls."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from model2vec import StaticModel
from tokenizers.models import WordLevel

from scentline.agents.operate.record import outcomes
from scentline.agents.stored import SHIPPED, read_table
from scentline.models.policy.inputs import SEMANTIC_INPUTS, inputs_with
from scentline.streams.transport.journal import Journal
from scentline_lab.static_model import StaticModelError, build, distilled, read_model
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint, last_line, printed, scentline
from tests.agents.test_archive import write
from tests.agents.word_tables import VOCABULARY, write_model, write_words
from tests.e2e.crawls import exact, write_labels

BUILD = ("semantic", "build", "--model", "model", "--out", "words.table")


def test_a_table_is_made_of_a_static_model_and_is_the_same_each_time(tmp_path: Path) -> None:
    write_model(tmp_path / "model")
    run = scentline(tmp_path, *BUILD)
    assert (run.returncode, run.stdout) == (0, "words.table: 36 word pieces, 8 numbers each, 769 bytes\n")
    path = tmp_path / "words.table"
    first = path.read_bytes()
    assert read_table(path).pieces == tuple(VOCABULARY[2:-1])
    printed(tmp_path, *BUILD)
    assert path.read_bytes() == first
    assert sorted(found.name for found in tmp_path.iterdir()) == ["model", "words.table"]
    path.write_text("a thesis")
    assert "holds something else" in complaint(tmp_path, *BUILD)
    assert path.read_text() == "a thesis", "a file that is no table is never replaced"


def test_what_a_model_says_of_two_pieces_is_what_its_table_says() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(50, 32)) * np.geomspace(1, 1e-6, 32)
    table = distilled([f"piece{number}" for number in range(50)], vectors, size=16)
    kept = table.vectors * table.scales[:, np.newaxis].astype(float)
    assert np.abs(kept @ kept.T - vectors @ vectors.T).max() < 0.05 * np.square(vectors).sum(axis=1).max()


def test_weights_and_shared_vectors_of_a_model_are_its_pieces(tmp_path: Path) -> None:
    model = StaticModel.from_pretrained(write_model(tmp_path / "plain"))
    shared, weights = np.arange(len(VOCABULARY)) % 4, np.arange(1.0, len(VOCABULARY) + 1)
    packed = StaticModel(model.embedding[:4], model.tokenizer, weights=weights, token_mapping=shared)
    packed.save_pretrained(tmp_path / "packed")
    pieces, vectors = read_model(tmp_path / "packed")
    assert list(pieces) == VOCABULARY
    assert np.allclose(vectors, model.embedding[shared] * weights[:, np.newaxis])


def test_what_is_no_static_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def why(model: Path) -> str:
        with pytest.raises(StaticModelError) as caught:
            build(model, tmp_path / "words.table")
        return str(caught.value)

    assert "no such directory" in why(tmp_path / "absent")
    damaged = write_model(tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"\xff" * 100)
    assert f"{damaged}: no static model can be read" in why(damaged)
    assert "of the kind WordLevel, expected WordPiece" in why(write_model(tmp_path / "other", WordLevel))
    monkeypatch.setitem(sys.modules, "model2vec", None)
    assert "needs the package model2vec: pip install 'scentline-lab[semantic]'" in why(damaged)


# the evaluation


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("web")
    web = SyntheticWeb(3, 4, 12, 4)
    answers = {url: web.answer(url, {}) for url, _ in web.labels()}
    pages = ((url, "200 OK", list(answer.headers), answer.body) for url, answer in answers.items())
    write(directory / "pages.warc.gz", *pages)
    write_labels(directory / "topics.tsv", web)
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


def test_the_table_that_comes_with_the_program_tells_alike_from_unlike() -> None:
    table = read_table(SHIPPED)

    def likeness(one: str, other: str) -> float:
        return float(table.vector(one).dot(table.vector(other)))

    for one, alike, unlike in (
        ("music", "song", "army"), ("river bank", "lake", "science"),
        ("football match", "hockey game", "church"), ("king of england", "queen", "computer"),
    ):  # fmt: skip
        assert likeness(one, alike) > 0.3 + likeness(one, unlike)
