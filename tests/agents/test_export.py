"""Exports: what a data set holds of a crawl, exactly, wherever it was stopped and whatever came since."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import msgspec
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.agents.operate import export as module
from scentline.agents.operate import parts
from scentline.agents.operate.export import Export
from scentline.agents.operate.parts import CURSOR, Cursor, ExportError, columns_of, parquet
from scentline.agents.operate.record import current_pages
from scentline.agents.operate.versions import read_listed
from scentline.agents.worker.connect import open_journal
from scentline.models.columns import COLUMNS
from scentline.models.page import Link
from scentline.models.published import Outcome
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.topics import OUTCOMES
from tests.agents.cells import an_outcome
from tests.agents.commands import ROOT, environment, scentline
from tests.agents.test_keep import Store, fetched, url_of
from tests.patience import wait_for

TEA = {"tea": True, "ski": False}


class FaultError(Exception):
    """What ends a step."""


def tell(data: Path, *told: Outcome) -> None:
    """Publish outcomes."""
    with open_journal(Settings(data=data)) as journal:
        journal.append_all([(OUTCOMES.name, 0, None, msgspec.json.encode(each)) for each in told], 0.0)


def exported(
    data: Path, out: Path, predicates: Sequence[str] | None = (), begin: float = 0.0, **settings: Any
) -> Cursor:
    """Export as Parquet."""
    found = Settings.model_validate({"data": data, **settings})
    columns = columns_of(found.extract)
    asked = Cursor(form="parquet", columns=columns, predicates=None if predicates is None else [*predicates])
    return Export(found, predicates, begin, print).in_parts(out, asked, parquet(columns))


def rows_in(out: Path) -> list[dict[str, Any]]:
    """Return the rows of all parts, in their order."""
    found = sorted(out.glob("part-*.parquet"))
    return [row for part in found for row in pyarrow.parquet.read_table(part).to_pylist()]


def values(row: dict[str, Any]) -> tuple[str, float, dict[str, bool]]:
    return (
        row["final_url"],
        row["time"].timestamp(),
        {each["name"]: each["holds"] for each in row["predicates"]},
    )


def page(number: int, time: float = 5.5, **said: Any) -> Outcome:
    return an_outcome(url_of(number), said.pop("verdict", TEA), (), time=time, **said)


# what holds now


@st.composite
def histories(draw: st.DrawFn) -> list[Outcome]:
    """Return what is told of some pages in the order of the log, and of one that no predicate holds for."""
    told = [page(9, verdict=dict.fromkeys("abc", False))]
    for number in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(["first", "again", "later", "left"]))
        said: dict[str, Any] = {"verdict": draw(st.dictionaries(st.sampled_from("abc"), st.booleans()))}
        said |= {"later": True} if kind == "later" else {} if kind == "first" else {"again": True}
        said |= {"left": "status 410", "verdict": {}} if kind == "left" else {}
        which, time = draw(st.integers(0, 6)), float(draw(st.integers(1, 4)))
        told.append(page(which, time, origin=f"pages/0@{number}", **said))
    return told


@given(histories(), st.sampled_from([None, (), ("a",), ("a", "c")]), st.integers(0, 3))
def test_an_export_has_each_page_that_is_asked_for_once_as_it_is_now(
    told: list[Outcome], names: Sequence[str] | None, begin: int
) -> None:
    with TemporaryDirectory() as place:
        data, out = Path(place, "data"), Path(place, "out")
        tell(data, *told)
        cursor = exported(data, out, names, begin)
        found = sorted(map(values, rows_in(out)))
        assert cursor.rows == len(found)
        assert found == sorted(
            (each.url, each.time, each.verdict)
            for each in current_pages(told).values()
            if each.time >= begin
            if names is None or any(each.verdict.get(name) for name in names or each.verdict)
        )


# stopped, killed, and later


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have parts of few rows."""
    for name, size in (("PART_ROWS", 7), ("GROUP_ROWS", 3), ("AT_ONCE", 2)):
        monkeypatch.setattr(module, name, size)


#: What ends by turns: writing a part, syncing and naming it, removing what is left, and the cursor.
STEPS: list[tuple[Any, str]] = [
    (Path, "replace"), (Path, "unlink"), (parts, "write_stored"), (os, "fsync"), (module, "_row"),
]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8)), max_size=6))
@example([(4, 3), (9, 0), (0, 5)])
def test_wherever_it_is_ended_the_same_command_goes_on_and_no_row_comes_twice_or_is_lost(
    ends: list[tuple[int, int]],
) -> None:
    """Each end is that of a step, by its number; meanwhile the crawl has some more pages, or old ones again."""
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patches:
        small.__wrapped__(patches)  # type: ignore[attr-defined]
        data, out = Path(place, "data"), Path(place, "out")
        told = [page(number) for number in range(20)]
        tell(data, *told)
        for step, more in [*ends, (10_000, 0)]:
            with pytest.MonkeyPatch.context() as faults:
                steps = count(1)
                for where, name in STEPS:
                    faults.setattr(where, name, ended_at(step, steps, getattr(where, name)))
                try:
                    exported(data, out)
                except FaultError:
                    pass
                else:
                    known = {(each.url, each.time) for each in told}
                    found = [row[:2] for row in map(values, rows_in(out))]
                    assert {*found} <= known and len({*found}) == len(found)
                    current = {(each.url, each.time) for each in current_pages(told).values()}
                    assert current <= {*found}
            new = [page(len(told) + number) for number in range(more)]
            new += [page(number, told[-1].time + 1, again=True) for number in range(more // 2)]
            tell(data, *new)
            told += new
        tables = [pyarrow.parquet.read_metadata(part).num_rows for part in out.glob("part-*.parquet")]
        cursor = msgspec.json.decode((out / CURSOR).read_bytes(), type=Cursor)
        assert (cursor.rows, cursor.parts) == (sum(tables), len(tables))


def ended_at(step: int, steps: "count[int]", whole: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that raises in place of its call with this number of all."""

    def run(*given: Any, **named: Any) -> Any:
        if next(steps) == step:
            raise FaultError
        return whole(*given, **named)

    return run


def test_killed_in_the_middle_it_goes_on_and_has_each_row_once(tmp_path: Path) -> None:
    tell(tmp_path / "data", *(page(number) for number in range(6_000)))
    program = "from scentline.agents.operate import export; export.PART_ROWS = 100; export.GROUP_ROWS = 10;"
    command = [sys.executable, "-c", f"{program} from scentline.agents.cli import main; main()"]
    command += ["export", "--data", "data", "--out", "out", "--format", "parquet"]
    for parts_before in (3, 20):
        with subprocess.Popen(command, cwd=tmp_path, env=environment()) as process:
            last = tmp_path / f"out/part-{parts_before:05d}.parquet"
            wait_for("some parts", last.exists)
            process.kill()
        assert process.returncode == -signal.SIGKILL
    subprocess.run(command, cwd=tmp_path, env=environment(), check=True)
    found = [row["url"] for row in rows_in(tmp_path / "out")]
    assert found == [url_of(number) for number in range(6_000)]


@pytest.mark.usefixtures("small")
def test_ctrl_c_keeps_the_rows_that_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(tmp_path / "data", *(page(number) for number in range(20)))
    whole_row = module._row
    calls = count(1)

    def row(*given: Any) -> Any:
        if next(calls) == 9:
            signal.raise_signal(signal.SIGINT)
        return whole_row(*given)

    monkeypatch.setattr(module, "_row", row)
    with pytest.raises(KeyboardInterrupt):
        exported(tmp_path / "data", tmp_path / "out")
    assert len(rows_in(tmp_path / "out")) == 9
    assert exported(tmp_path / "data", tmp_path / "out").rows == 20
    assert [row["url"] for row in rows_in(tmp_path / "out")] == [url_of(number) for number in range(20)]


def test_later_it_adds_what_is_new_and_a_page_that_came_to_satisfy_a_predicate(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    tell(data, page(1), page(2, verdict={"tea": False}), page(3))
    assert exported(data, out).rows == 2
    assert exported(data, out).parts == 1, "there is nothing new"
    tell(data, page(4, 6.0), page(2, verdict={"snow": True}, later=True), page(3, 7.0, again=True))
    assert exported(data, out).rows == 5
    assert [values(row) for row in rows_in(out)[2:]] == [
        (url_of(4), 6.0, TEA), (url_of(2), 5.5, {"snow": True, "tea": False}), (url_of(3), 7.0, TEA),
    ]  # fmt: skip


# what pages hold

KEPT = b"""<title>Tea</title><nav><a href="/">Home</a></nav><h1>Green <b>tea</b></h1><p>A pot of green tea is
brewed for three minutes, and no longer than that.<i class="price">9.50</i>"""


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Return a directory with a crawl of a page that is kept, one that is not, and one without tea."""
    store = Store(tmp_path / "data")
    for number in (1, 3):
        store.keep(replace(fetched(number), body=KEPT))
    store.kept.close()
    link: dict[str, Any] = {"referrer": "http://b.org/", "source": "http://a.org/old", "depth": 2}
    scores: dict[str, Any] = {"predicate": "tea", "priority": -0.5, "expected": 0.25}
    tell(
        tmp_path / "data", page(1, title="Tea", **link, **scores), page(2, title="=Cup"),
        page(3, verdict=dict.fromkeys(TEA, False)),
    )  # fmt: skip
    (tmp_path / "scentline.toml").write_text('[extract]\nprice = "css:.price::text"\n')
    return tmp_path


ROW = {
    "url": "http://a.org/old", "final_url": url_of(1), "status": 200,
    "time": "1970-01-01T00:00:05.500000+00:00", "language": "en", "title": "Tea",
    "text": "A pot of green tea is brewed for three minutes, and no longer than that.9.50",
    "headings": ["Green tea"], "links": [{"url": "http://a.org/", "anchor": "Home"}],
    "predicates": [
        {"name": "tea", "holds": True, "score": -0.5, "expected": 0.25},
        {"name": "ski", "holds": False, "score": None, "expected": None},
    ],
    "depth": 2, "referrer": "http://b.org/", "price": "9.50",
}  # fmt: skip
HELD = ("language", "text", "headings", "links", "price")


def test_each_format_has_the_columns_and_null_for_what_is_not_kept(crawl: Path) -> None:
    for form in ("jsonl", "csv", "parquet"):
        run = scentline(crawl, "export", "--data", "data", "--out", form, "--format", form, "--all")
        assert run.stdout == f"{form}: 3 rows in 1 parts\n"
        assert run.stderr == "1 pages are not kept (see [keep]), or can't be read: what they hold is missing\n"
    lines = [json.loads(line) for line in (crawl / "jsonl/part-00001.jsonl").read_text().splitlines()]
    assert (lines[0], [*lines[0]]) == (ROW, [*ROW])
    assert [lines[1][name] for name in HELD] == [None] * len(HELD)
    assert (lines[2]["text"], lines[2]["price"]) == (ROW["text"], None), "it satisfies no predicate"
    table = pyarrow.parquet.read_table(crawl / "parquet/part-00001.parquet")
    assert table.column_names == [*ROW]
    time = datetime.fromtimestamp(5.5, UTC)
    assert table.to_pylist() == [line | {"time": time} for line in lines]
    cells = list(csv.DictReader(io.StringIO((crawl / "csv/part-00001.csv").read_text())))
    lists = {name for name, value in ROW.items() if isinstance(value, list)}
    found = {name: json.loads(cell) if name in lists else cell for name, cell in cells[0].items()}
    assert found == {name: value if name in lists else str(value) for name, value in ROW.items()}
    assert (cells[1]["title"], [cells[1][name] for name in HELD]) == ("'=Cup", [""] * len(HELD))


def test_the_columns_and_their_types_are_those_of_the_page(crawl: Path) -> None:
    text = (ROOT / "docs/output.md").read_text().partition("## A data set")[2].partition("\n## ")[0]
    shown = re.findall(r"^`(\w+)` \| (\S.*?) \| (.*)$", text, re.MULTILINE)
    assert shown == [(column.name, f"`{column.type}`", column.meaning) for column in COLUMNS]
    exported(crawl / "data", crawl / "out")
    schema = pyarrow.parquet.read_schema(crawl / "out/part-00001.parquet")
    plain = {"timestamp": "timestamp[us, tz=UTC]"}
    for column, field in zip(COLUMNS, schema, strict=True):
        kind = re.sub(r"element: |item: |: \w+", "", str(field.type))
        assert kind == plain.get(column.type, column.type)


@given(st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.booleans()))
@example('","words":[],"origin":"', ['],"origin":"pages/1@1"'], {"words": True, '],"origin":': False})
def test_an_outcome_is_read_without_its_words_and_links(
    title: str, words: list[str], verdict: dict[str, bool]
) -> None:
    link = Link("http://b.org/", (*words,), (*words,))
    told = an_outcome(url_of(1), verdict, [link], title=title, words=(*words,), referrer="http://c.org/")
    ((_, _, listed),) = read_listed(msgspec.json.encode(told)).facts
    assert {name: getattr(listed, name) for name in listed.__struct_fields__} == {
        name: getattr(told, name) for name in listed.__struct_fields__
    }


def test_a_wacz_has_the_kept_pages(crawl: Path) -> None:
    run = scentline(crawl, "export", "--data", "data", "--out", "tea.wacz", "--format", "wacz")
    assert run.stdout == "tea.wacz: 1 pages\n"
    with ZipFile(crawl / "tea.wacz") as file:
        _, page = map(json.loads, file.read("pages/pages.jsonl").splitlines())
    assert (page["url"], page["title"], page["text"]) == (url_of(1), "Tea", ROW["text"])


# what can't be exported


def test_what_stands_in_the_way_is_told(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out = crawl / "data", crawl / "out"
    exported(data, out)
    with pytest.raises(ExportError, match=r"begun with columns \{\}, not \{'price': 'css:b'\}; give"):
        exported(data, out, extract={"price": "css:b"})
    with pytest.raises(ExportError, match=r"was begun with predicates \[\], not \['tea'\]"):
        exported(data, out, ["tea"])
    tell(crawl / "other", page(1))
    with pytest.raises(ExportError, match="an export of another crawl"):
        exported(crawl / "other", out)
    with pytest.raises(ExportError, match="expected an empty directory, a new one, or one of an export"):
        exported(data, crawl)
    (out / CURSOR).write_text("{}")
    with pytest.raises(ExportError, match="not the state of an export"):
        exported(data, out)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'scentline\[parquet\]'"):
        parquet({})
    unknown = scentline(crawl, "export", "--data", "data", "--out", "new", "tee")
    assert "no predicate 'tee'; expected one of ski, tea" in unknown.stderr
    assert not any((crawl / "new").iterdir())
    with parts.alone(crawl / "new"):
        second = scentline(crawl, "export", "--data", "data", "--out", "new")
    assert second.stderr == "scentline: error: --out new: another export is writing there\n"
    full = scentline(crawl, "export", "--data", "data", "--out", "/dev/full/new")
    assert full.stderr == "scentline: error: --out /dev/full/new: can't be written: Not a directory\n"
    both = scentline(crawl, "export", "--data", "data", "--out", "new", "--all", "tea")
    assert both.stderr.startswith("scentline: error: --all is every judged page")
