from scentline.models.accesslog.entry import Entry
from scentline.models.accesslog.filter import page_view
from tests.cases import each_case


def entry(
    url: str = "http://example.org/a", method: str = "GET", status: int = 200, content_type: str | None = None
) -> Entry:
    return Entry("192.0.2.7", None, 0.0, method, url, status, 0, content_type)


@each_case("status", [200, 203, 206, 304])
def test_an_answered_get_of_a_page_is_a_page_view(status: int) -> None:
    assert page_view(entry(status=status)) is None


@each_case("method", ["POST", "HEAD", "CONNECT", "OPTIONS", "NONE", "-", "get"])
def test_other_methods_are_not_page_views(method: str) -> None:
    assert page_view(entry(method=method)) == "method"


@each_case("status", [0, 100, 199, 300, 301, 302, 303, 305, 404, 500])
def test_other_answers_are_not_page_views(status: int) -> None:
    assert page_view(entry(status=status)) == "status"


@each_case(
    "content_type",
    ["image/png", "text/css", "application/javascript", "video/mp4", "font/woff2", "application/zip"],
)
def test_media_are_told_by_their_type(content_type: str) -> None:
    assert page_view(entry(content_type=content_type)) == "media"


@each_case("content_type", ["text/html", "application/xhtml+xml", "application/pdf", "text/plain"])
def test_the_type_is_believed_before_the_url(content_type: str) -> None:
    assert page_view(entry("http://example.org/File:Map.svg", content_type=content_type)) is None


@each_case(
    "url",
    [
        *(
            "http://example.org/a.png",
            "/a/b.JPG",
            "/style.css?v=1.2",
            "/a.js#x",
            "/a.tar.gz",
            "/.ico",
            "/a.woff2",
        ),
        *("http://example.org/a.mp4?b=/c", "/favicon.ico", "//a.zip"),
    ],
)
@each_case("content_type", [None, "application/octet-stream"])
def test_media_are_told_by_the_url_where_the_type_says_nothing(url: str, content_type: str | None) -> None:
    assert page_view(entry(url, content_type=content_type)) == "media"


@each_case(
    "url",
    [
        *("/", "/a.html", "/png", "/a.png/", "/a.png/b", "/?file=a.png", "/a.", "/a.b.php?c=d.zip", "", "-"),
        *("http://example.zip", "http://example.zip?a", "/robots.txt", "/paper.pdf"),
    ],
)
def test_other_urls_are_pages(url: str) -> None:
    assert page_view(entry(url)) is None


def test_the_first_reason_counts() -> None:
    assert page_view(entry("/a.png", method="POST", status=404)) == "method"
    assert page_view(entry("/a.png", status=404)) == "status"
