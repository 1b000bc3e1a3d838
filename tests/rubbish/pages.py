"""Pages made to take long: each of a kind that once took minutes, or that may be a parser's weak point."""

from collections.abc import Iterator

SIZE = 2_000_000
BASE = '<base href="http://example.org/' + "%25" * 640 + '/">'


def filled(text: str, size: int = SIZE) -> str:
    return text * (size // len(text.encode()) + 1)


def nested(start: str, then: str) -> str:
    """Return elements that are opened in one half, and tags that end none of them in the other."""
    return filled(start, SIZE // 2) + filled(then, SIZE // 2)


def links(hrefs: Iterator[str]) -> str:
    return "".join(f'<a href="{href}">word</a>' for href in hrefs)


def hostile_pages() -> dict[str, bytes]:
    """Return pages by name, 2 MB each at most."""
    pairs = "&".join(chr(97 + n % 26) + chr(97 + n // 26) for n in range(600))
    pages = {
        # marks that are put in order one by one
        "marks": "a" + "\u0315" * (SIZE // 4) + "\u0300" * (SIZE // 4),
        "marks that are two": "a" + "\u0f73" * (SIZE // 3),
        "marks of the second plane": "a" + "\U0001d16d\U0001d165" * (SIZE // 8),
        "many runs of marks": filled("a" + "\u0315\u0300" * 15),
        "marks in the title": "<title>a" + "\u0315" * 400_000 + "\u0300" * 400_000,
        "marks in pictures": "<a href=/x><img alt='a" + "\u0315" * 400_000 + "\u0300" * 400_000,
        "marks in a host": links(f"http://a{chr(0x315) * 300}{chr(0x300) * 300}{n}.com" for n in range(1500)),
        # stacks of open elements, looked through at every end tag
        "ends of others": nested("<b>", "</i>"),
        "ends of paragraphs": nested("<b>", "</p>"),
        "forms": nested("<b>", "</form>"),
        "bodies": nested("<b>", "<body>"),
        "parted by tables": filled("<font></table>"),
        "parted by blocks": filled("<div></b>"),
        "deep as allowed": "<b>" * 500 + filled("</i>"),
        "lists": filled("<ul><li>"),
        "links in links": filled("<a href=x><div>"),
        # links that each take long
        "a long base": BASE + "".join(f"<a href={n}>x</a>" for n in range(20_000)),
        "a long base, absolute links": BASE + "".join(f"<a href=http:{n}>x</a>" for n in range(20_000)),
        "parameters of sessions": links(f"/{n}?sess&amp;{pairs}" for n in range(1000)),
        "signs to escape": links(f"/{n}?{'|' * 1900}" for n in range(1000)),
        "escapes": links(f"/{n}{'%7e' * 620}" for n in range(1000)),
        "ideographs as hosts": links(f"http://{chr(0xFDFA) * 600}{n}.com" for n in range(1000)),
        "links to one page": filled("<a href=x>word </a>"),
        # what has no end
        "open comment": "<!--" + filled("-"),
        "open attribute": '<p a="' + filled("x"),
        "attributes": "<p " + "".join(f"a{n}=1 " for n in range(200_000)),
        "script": "<script>" + filled("</scrip"),
        "a number": "&#" + filled("9"),
        "a refresh": '<meta http-equiv=refresh content="0;url' + filled(" ") + '">',
        "a tag": "<" + filled("a"),
        "one word": filled("ab"),
        "sharp": filled("\u0390"),
        "instructions": filled("<?x "),
    }
    return {
        **{name: text.encode() for name, text in pages.items()},
        "bytes of no encoding": b"<meta charset=windows-1257>" + b"\xd2\x81" * (SIZE // 2),
    }
