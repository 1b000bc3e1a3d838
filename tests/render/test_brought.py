"""What the judge says of a rendered page: whether it needed its scripts, and whether they brought anything."""

import zstandard

from scentline.agents.judge.examiner import Examiner
from scentline.agents.judge.question import Question, Work
from scentline.models.facts import Rendering
from scentline.models.page import NEEDS_SCRIPTS
from scentline.models.records import FetchedPage, HostAnswer, Rendered, encode
from scentline.streams.settings import Settings
from tests.agents.judging import an_order
from tests.cases import each_case

SHELL = "<div id=app></div><script src=/app.js></script>"
WHOLE = f"<main>{'<p>Tea of the hills. ' * 40}</main><script src=/app.js></script>"
LONGER = WHOLE + "<p>More tea of other hills. " * 40
LINKED = WHOLE + "".join(f"<p><a href=/{number}>tea</a>" for number in range(30))
KIND = "text/html; charset=utf-8"


@each_case(
    ("plain", "rendered", "needed", "brought"),
    [
        (SHELL, WHOLE, True, True), (SHELL, SHELL, True, False), (WHOLE, WHOLE, False, False),
        (WHOLE, LONGER, False, True), (WHOLE, LINKED, False, True), (LONGER, WHOLE, False, False),
    ],
)  # fmt: skip
def test_what_rendering_brought_is_more_text_or_links(
    plain: str, rendered: str, needed: bool, brought: bool
) -> None:
    compress = zstandard.ZstdCompressor().compress
    page = FetchedPage(
        order=an_order("http://a.org/", render=True), status=200, headers={"content-type": KIND}, time=9.0,
        body=compress(rendered.encode()), host=HostAnswer(elapsed=0.1, requests=3),
        rendered=Rendered(1.5, 3, compress(plain.encode()), KIND),
    )  # fmt: skip
    found = Examiner(Work.of(Settings())).examined(Question(encode(page), {}))
    assert found.rendering == Rendering(1.5, needed, brought)
    assert (found.page.barred == NEEDS_SCRIPTS) == (rendered == SHELL)
