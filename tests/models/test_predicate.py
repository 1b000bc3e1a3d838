from scentline.models.predicate import View, parse
from tests.cases import each_case

URL = "http://www.example.org/wiki/Ice_hockey.html"


def holds(expression: str, title: str = "", text: str = "", url: str = URL, categories: str = "") -> bool:
    view = View(url, title, text, frozenset(categories.split()))
    return parse(expression).evaluate(view)


WORK = "Web Crawlers at work"
HOCKEY = "Hockey is played on ice"
PORT = "http://www.example.org:8080/"


@each_case(
    ("expression", "page", "true"),
    [
        ('category("Sports") and "hockey"', {"text": HOCKEY, "categories": "Sports Sports.Winter"}, True),
        ('category("Sports") and "hockey"', {"text": HOCKEY, "categories": "Arts"}, False),
        ('category("Sports") and "hockey"', {"text": "football", "categories": "Sports"}, False),
        # The paper's: Aggarwal 2004, section 1.
        ('"NBA" and url.suffix(".uk")', {"text": "the nba finals", "url": "http://www.bbc.co.uk/sport"}, True),
        ('"NBA" and url.suffix(".uk")', {"text": "the nba finals", "url": "http://www.nba.com/uk"}, False),
        # Keywords are whole words, in title or text, and a phrase is consecutive words within one of them.
        ('"hockey"', {"text": "hockeys"}, False),
        ('"hockey"', {"text": "(hockey!)"}, True),
        ('"hockey"', {"title": "Hockey"}, True),
        ('"ice hockey"', {"text": "All about ICE-HOCKEY."}, True),
        ('"ice hockey"', {"text": "hockey ice"}, False),
        ('"ice hockey"', {"text": "ice and hockey"}, False),
        ('"ice hockey"', {"title": "ice", "text": "hockey"}, False),
        ('"STRASSE"', {"text": "Straße"}, True),
        ('"cafe\u0301"', {"text": "CAFÉ"}, True),
        ('"ΣΊΣΥΦΟΣ"', {"text": "σίσυφος"}, True),
        # A star stays within a word of the title.
        ('title("crawl*")', {"title": WORK}, True),
        ('title("web crawl* at")', {"title": WORK}, True),
        ('title("web * at")', {"title": WORK}, True),
        ('title("web work")', {"title": WORK}, False),
        ('title("rawl*")', {"title": WORK}, False),
        ('title("web*work")', {"title": WORK}, False),
        ('title("crawl*")', {"text": "crawlers", "title": "nothing"}, False),
        # A host and those below it; with a port, on that alone.
        ('host("Example.ORG")', {"url": "http://example.org/"}, True),
        ('host("Example.ORG")', {"url": PORT}, True),
        ('host("example.org")', {"url": "http://notexample.org/"}, False),
        ('host("example.org")', {"url": "http://example.org.evil.test/"}, False),
        ('host("example.org:8080")', {"url": PORT}, True),
        ('host("example.org:8080")', {"url": "http://example.org/"}, False),
        ('host("[::1]")', {"url": "http://[::1]:80/"}, True),
        ('host("[::2]")', {"url": "http://[::1]/"}, False),
        # Parts of URLs.
        (r'url("/wiki/\w+\.html$")', {}, True),
        (r'url("^/wiki/")', {}, False),
        ('url.prefix("http://www.example.org/wiki/")', {}, True),
        ('url.prefix("http://example.org/")', {}, False),
        ('url.suffix(".html")', {}, True),
        ('url.suffix(".ORG")', {}, True),
        ('url.suffix(".HTML")', {}, False),
        # "not" binds tighter than "and", and that tighter than "or".
        ('not "aa" and "bb" or "cc"', {"text": "cc aa"}, True),
        ('not "aa" and ("bb" or "cc")', {"text": "cc aa"}, False),
        ('"cc" or "aa" and "bb"', {"text": "cc"}, True),
    ],
)
def test_a_predicate_holds_where_its_tests_and_operators_say(
    expression: str, page: dict[str, str], true: bool
) -> None:
    assert holds(expression, **page) is true


def test_case_spaces_quotes_and_escapes_make_no_other_predicate() -> None:
    assert parse('"aa"AND not"bb"Or\n"cc"') == parse("'aa' and not 'bb' or 'cc'")
    assert parse(r"""category('the \'best\' "one"')""").categories == {"""the 'best' "one\""""}
    assert parse(r'category("back\\slash")').categories == {"back\\slash"}
    assert parse(r'category("as \is")').categories == {r"as \is"}
    predicate = parse("""(("NBA  Finals")and(NOT('x1'or host('A.org'))))""")
    assert str(predicate) == '"nba finals" and not ("x1" or host("a.org"))'
    assert len({parse('"NBA" and url("x")'), parse("('nba' and url('x'))")}) == 1


def test_categories_asked_for_are_known() -> None:
    predicate = parse('category("A.B") and not (category("C") or "aa") or category("C")')
    assert predicate.categories == {"A.B", "C"}
