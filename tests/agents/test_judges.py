"""Judges of categories and of languages: what they say, together and when one fails."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from scentline.agents.judge.examples import load as load_examples
from scentline.agents.judge.examples import train
from scentline.agents.judge.judges import Judgement, LabelsError, Language, Verdicts, load_judges, load_labels
from scentline.agents.offline.archive import Archive
from scentline.models.classifier import ClassifierError
from scentline.models.page import Page
from scentline.models.predicate import Predicate, parse
from scentline.models.predicate.parser import LANGUAGES
from scentline.models.settings import JudgeSettings
from scentline.streams.settings import ConfigurationError
from tests.agents.commands import ROOT, last_line, printed
from tests.agents.test_archive import page as a_page
from tests.agents.test_archive import write
from tests.cases import each_case

PAGE = Page("http://a.org/", "Skiing", "Snow on the hill", ("skiing", "snow", "on", "the", "hill"))
PACKAGE = ROOT / "docs" / "examples" / "judge-by-length"


def predicates(**expressions: str) -> dict[str, Predicate]:
    return {name: parse(expression) for name, expression in expressions.items()}


ASKED = predicates(sport='category("Sport")', alps='category("Sport.Alps")', snow='"snow"')


def judged(*judges: Any) -> Judgement:
    return Verdicts(judges).of(PAGE, ASKED)


def raising(page: Page) -> list[str]:
    raise KeyError(f"no\nsuch {page.title}")


def endless(page: Page) -> Iterator[str]:
    while True:
        yield "A"


def test_what_several_judges_say_is_united_with_the_categories_above() -> None:
    both = judged(lambda page: ["Sport.Alps"], lambda page: iter(["Tea"]))
    assert (both.verdict, both.failure) == ({"sport": True, "alps": True, "snow": True}, None)
    assert judged(lambda page: "Sport").verdict == {"sport": True, "alps": False, "snow": True}
    unasked = Verdicts([raising]).of(PAGE, predicates(snow='"snow"'))
    assert (unasked.verdict, unasked.failure) == ({"snow": True}, None), "a judge is called for nothing"


@each_case(
    ("judge", "why"),
    [
        (raising, "KeyError: 'no\\nsuch Skiing'"),
        (endless, "more than 100 categories"),
        (lambda page: None, "TypeError"),
        (lambda page: [1], "a category is of type int, expected str"),
        (lambda page: ["A..B"], "separated by single dots"),
    ],
)
def test_a_judge_that_fails_fails_alone(judge: Callable[[Page], Iterable[str]], why: str) -> None:
    verdict, _, failure = judged(judge)
    assert verdict == {"snow": True}
    assert failure is not None
    assert why in failure
    assert "\n" not in failure


# languages

TEXTS = {
    "de": "Der Schnee auf den Bergen schmilzt im Frühling, und die Bäche werden zu reißenden Flüssen.",
    "en": "The snow on the hills melts in spring, and the brooks become rivers that nobody can cross.",
    "fr": "La neige des montagnes fond au printemps et les ruisseaux deviennent de grandes rivières.",
}


def test_the_language_of_a_page_is_told() -> None:
    language, verdicts, asked = Language(), Verdicts(), predicates(de='lang("de")', not_de='not lang("de")')
    for text in ("", "Tee", "4711 0815 " * 50, "\u2603" * 500):
        assert language(Page("http://a.org/", "", text)) is None
    for code, text in TEXTS.items():
        page = Page("http://a.org/", "", text)
        assert language(page) == code
        assert verdicts.of(page, asked).verdict == {"de": code == "de", "not_de": code != "de"}


def test_the_languages_of_the_predicate_language_are_those_that_the_judge_tells() -> None:
    found = LanguageIdentifier.from_model_file(MODEL_FILE).labels
    assert set(found) - {"zxx"} == LANGUAGES  # zxx: no language at all


# trained on examples


def test_a_classifier_trained_on_pages_of_an_archive_and_on_texts_judges_pages(tmp_path: Path) -> None:
    texts = [f"<title>{kind}</title><p>{kind} {kind}ing {n}" for n, kind in enumerate(["snow", "tea"] * 6)]
    pages = (a_page(f"http://a.org/{number}", text.encode()) for number, text in enumerate(texts))
    archive = write(tmp_path / "pages.warc.gz", *pages)
    lines = [f"http://a.org/{number}\t{kind}" for number, kind in enumerate(["Sport.Snow", "Food"] * 6)]
    lines += ["http://a.org/missing\tFood", "a hot cup of tea\tFood", "...\tFood", ""]
    (tmp_path / "examples.tsv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    with Archive([archive]) as opened:
        examples = load_examples(tmp_path / "examples.tsv.gz", opened)
    assert (len(examples.found), examples.missing, examples.empty) == (13, 1, 1)
    assert train(examples, tmp_path / "topics").accuracy == 1.0
    (judge,) = load_judges(JudgeSettings(classifier=str(tmp_path / "topics")))
    assert judge(Page("http://b.org/", words=("snow",))) == {"Sport", "Sport.Snow"}
    assert judge(Page("http://b.org/", words=("cup", "tea"))) == {"Food"}
    assert judge(Page("http://b.org/", words=("unheard",))) == frozenset()


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode(errors="surrogateescape") if isinstance(text, str) else text)
    return path


@each_case(
    ("load", "text", "why"),
    [
        *((partial(load_examples, archive=None), text, why) for text, why in (
            ("snow without a category", "line 1: expected URL or text, tab, category: no tab"),
            ("snow\tA..B", "separated by single dots"), ("http://a.org/\tA", "give --archive WARC"),
            ("x" * 100_001, "at most"), ("\udcff\tA", "can't decode"))),
        *((load_labels, f"http://a.org/\tA\n\n{text}\n", f"line 3: expected{why}") for text, why in (
            ("http://a.org/ A", ".*no tab"), ("http://a.org/\t", ".*single dots"),
            ("http://a.org/\tA..B", ".*single dots"), ("http://a.org/\t\udcff", ".*can't decode"),
            ("http://a.org/\t" + "A" * 5000, ".*lines of 4000 bytes"))),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named(tmp_path: Path, load: Callable[[Path], object], text: str, why: str) -> None:
    path = written(tmp_path / "examples.tsv", text)
    with pytest.raises((ClassifierError, LabelsError), match=why) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(path))


@each_case(
    ("named", "error"),
    [
        ({"python": "missing"}, ConfigurationError), ({"classifier": "missing"}, ClassifierError),
        ({"classifier": __file__}, ClassifierError),
    ],
)  # fmt: skip
def test_a_judge_that_can_not_be_loaded_is_named(named: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        load_judges(JudgeSettings.model_validate(named))
    assert next(iter(named.values())) in str(caught.value)


# labels


def test_categories_of_all_lines_of_a_url_with_those_above_them(tmp_path: Path) -> None:
    lines = "http://a.org/\tA.B\n\nHTTP://A.org:80/x/../#top\tC\r\nhttp://b.org/\tA\nftp://a.org/\tA\n"
    for name, data in (("l.tsv", lines.encode()), ("l.tsv.gz", gzip.compress(lines.encode()))):
        labels = load_labels(written(tmp_path / name, data))
        assert labels.categories("http://a.org/") == {"A", "A.B", "C"}
        assert labels.categories("http://b.org/") == {"A"}
        assert labels.categories("http://c.org/") == frozenset()


def test_pages_with_the_same_categories_share_one_set(tmp_path: Path) -> None:
    lines = "".join(f"http://a.org/{page}\tA.B\nhttp://a.org/{page}\tC\n" for page in range(10))
    labels = load_labels(written(tmp_path / "l.tsv", lines))
    assert len({id(labels.categories(f"http://a.org/{page}")) for page in range(10)}) == 1


PACKED = gzip.compress(b"http://a.org/\tA\n")


@each_case(
    ("name", "content"),
    [("absent.tsv", None), ("plain.gz", b"http://a.org/\tA\n"), ("cut.gz", PACKED[:-6]),
     ("broken.gz", PACKED[:10] + b"\xff" * 40)],
)  # fmt: skip
def test_labels_that_can_not_be_read_are_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = tmp_path / name if content is None else written(tmp_path / name, content)
    with pytest.raises(LabelsError, match=re.escape(name)):
        load_labels(path)


# installed by others


def test_the_example_package_of_the_docs_is_installed_and_judges_a_crawl(tmp_path: Path) -> None:
    package, target = tmp_path / "package", tmp_path / "target"
    shutil.copytree(PACKAGE, package)
    install = (
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index",
        "--no-deps", "--no-build-isolation", "--target", str(target), str(package),
    )  # fmt: skip
    subprocess.run(install, check=True)
    long = " ".join(f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(150))
    pages = {"http://a.org/": f'<a href="/short">short</a> {long}', "http://a.org/short": "a few words"}
    write(tmp_path / "pages.warc.gz", *(a_page(url, body.encode()) for url, body in pages.items()))
    out = printed(
        tmp_path, "crawl", "--archive", "pages.warc.gz", "--seed", "http://a.org/", "--json",
        "--predicate", 'long=category("Length.Long")', "--predicate", 'any=category("Length")',
        "--set", "judge.python=length", PYTHONPATH=os.pathsep.join([str(target), str(ROOT / "src")]),
    )  # fmt: skip
    found = {name: (one["hits"], one["judged"]) for name, one in last_line(out)["predicates"].items()}
    assert found == {"long": (1, 2), "any": (2, 2)}
