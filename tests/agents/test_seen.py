"""What a page shows, for data sets and for people, read apart from all else."""

import asyncio

import pytest

from scentline.agents.judge.examiner import Examiner
from scentline.agents.judge.process import ExaminerProcess
from scentline.agents.judge.question import PageError, Seen, Show, Work
from scentline.streams.settings import Settings
from tests.patience import PATIENCE

URL = "http://a.org/alps/"
HTML = """<html><head><title> Skiing in
the Alps</title><body><nav><a href="/">Home page</a></nav><h1>The <b>Alps</b></h1>
<p>Das Wetter in den Bergen ist heute  sehr schön, und es liegt viel Schnee. <a href="snow">More
<i>snow</i></a><a href="map"><img alt="A map"></a></p><p class="price">9.50</p>"""

TEXT = "Das Wetter in den Bergen ist heute sehr schön, und es liegt viel Schnee."


def examiner(**judge: object) -> Examiner:
    return Examiner(Work.of(Settings.model_validate({"judge": judge})))


def test_a_page_shows_its_text_as_it_stands() -> None:
    asked = {"alps": '"alps"', "german": 'lang("de")', "sea": '"sea"'}
    extract = {"price": "css:.price::text", "none": "css:.none"}
    page = Show(URL, HTML.encode(), "text/html; charset=utf-8", asked, extract)
    assert examiner().seen(page) == Seen(
        title="Skiing in the Alps",
        text=f"{TEXT} More snow 9.50",
        language="de",
        headings=("The Alps",),
        links=(("http://a.org/", "Home page"), (f"{URL}snow", "More snow"), (f"{URL}map", "A map")),
        extract={"price": "9.50"},
        barred="",
        verdict={"alps": True, "german": True, "sea": False},
        failure=None,
        decided={
            "alps": ('"alps"', f"Home page The Alps {TEXT}"),
            "german": ('lang("de")', ""), "sea": ('"sea"', ""),
        },
    )  # fmt: skip


def test_what_a_crawl_would_refuse_is_shown_with_the_reason() -> None:
    unindexed = examiner().seen(Show(URL, b"<meta name=robots content=noindex><h2>Alps</h2>", "text/html"))
    assert (unindexed.barred, unindexed.headings) == ("the page asks not to be indexed", ("Alps",))
    image = examiner().seen(Show(URL, b"\x89PNG\r\n\x1a\n", "image/png", {}, {"all": "xpath://node()"}))
    assert (image.barred, image.extract) == ("not HTML or text: image/png", {})
    plain = examiner().seen(Show(URL, b"<p>snow", "text/plain", {}, {"all": "css:p"}))
    assert (plain.text, plain.extract) == ("<p>snow", {})


def test_an_expression_without_end_costs_its_page_alone() -> None:
    work = Work.of(Settings.model_validate({"judge": {"cpu_seconds": 1, "seconds": PATIENCE}}))
    endless = {"all": "xpath://p[count(//p[count(//p) > 1]) > 1]"}

    async def seen() -> Seen:
        process = ExaminerProcess(work)
        try:
            with pytest.raises(PageError, match=r"over 1 seconds of CPU \(judge.cpu_seconds\)"):
                await process.show(Show(URL, b"<p>" * 30_000, "text/html", {}, endless))
            return await process.show(Show(URL, HTML.encode(), "text/html", {}, {"price": "css:.price"}))
        finally:
            await process.close()

    assert asyncio.run(seen()).extract == {"price": "9.50"}
