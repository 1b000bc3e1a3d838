from scentline.models.predicate import View, parse
from tests.cases import each_case

URL = "http://www.example.org/wiki/Ice_hockey.html"


def holds(expression: str, title: str = "", text: str = "", url: str = URL, categories: str = "") -> bool:
    view = View(url, title, text, frozenset(categories.split()))
    return parse(expression).evaluate(view)


def test_category_and_keyword() -> None:
    expression = 'category("Sports") and "hockey"'
    assert holds(expression, text="Hockey is played on ice", categories="Sports Sports.Winter")
    assert not holds(expression, text="Hockey is played on ice", categories="Arts")
    assert not holds(expression, text="football", categories="Sports")


def test_keyword_and_url_suffix_of_the_paper() -> None:
    expression = '"NBA" and url.suffix(".uk")'
    assert holds(expression, text="the nba finals", url="http://www.bbc.co.uk/sport/basketball")
    assert not holds(expression, text="the nba finals", url="http://www.nba.com/sport/uk")


def test_keyword_matches_whole_words_only() -> None:
    assert not holds('"hockey"', text="hockeys")
    assert holds('"hockey"', text="(hockey!)")


def test_keyword_is_looked_up_in_the_title_too() -> None:
    assert holds('"hockey"', title="Hockey")


def test_phrase_needs_consecutive_words() -> None:
    assert holds('"ice hockey"', text="All about ICE-HOCKEY.")
    assert not holds('"ice hockey"', text="hockey ice")
    assert not holds('"ice hockey"', text="ice and hockey")


def test_phrase_does_not_reach_from_title_into_text() -> None:
    assert not holds('"ice hockey"', title="ice", text="hockey")


@each_case(("keyword", "text"), [("STRASSE", "Straße"), ("cafe\u0301", "CAFÉ"), ("ΣΊΣΥΦΟΣ", "σίσυφος")])
def test_keywords_are_folded_as_unicode_says(keyword: str, text: str) -> None:
    assert holds(f'"{keyword}"', text=text)


def test_title_glob_matches_a_run_of_words() -> None:
    assert holds('title("crawl*")', title="Web Crawlers at work")
    assert holds('title("web crawl* at")', title="Web Crawlers at work")
    assert not holds('title("web work")', title="Web Crawlers at work")
    assert not holds('title("crawl*")', text="crawlers", title="nothing")
    assert not holds('title("rawl*")', title="Crawlers")


def test_star_stays_within_a_word() -> None:
    assert not holds('title("web*work")', title="Web Crawlers at work")
    assert holds('title("web * at")', title="Web Crawlers at work")


def test_host_holds_for_itself_and_below() -> None:
    for url in ("http://example.org/", "http://www.example.org/a", "https://example.org:8080/"):
        assert holds('host("Example.ORG")', url=url)
    assert not holds('host("example.org")', url="http://notexample.org/")
    assert not holds('host("example.org")', url="http://example.org.evil.test/")


def test_host_with_a_port_holds_on_that_port_alone() -> None:
    assert holds('host("example.org:8080")', url="http://example.org:8080/")
    assert holds('host("example.org:8080")', url="http://www.example.org:8080/")
    assert not holds('host("example.org:8080")', url="http://example.org/")


def test_host_may_be_an_address() -> None:
    assert holds('host("[::1]")', url="http://[::1]:80/")
    assert holds('host("[::1]")', url="http://[::1]/")
    assert not holds('host("[::2]")', url="http://[::1]/")


def test_url_regex_is_searched() -> None:
    assert holds(r'url("/wiki/\w+\.html$")')
    assert not holds(r'url("^/wiki/")')


def test_url_prefix_and_suffix() -> None:
    assert holds('url.prefix("http://www.example.org/wiki/")')
    assert not holds('url.prefix("http://example.org/")')
    assert holds('url.suffix(".html")')
    assert holds('url.suffix(".ORG")')
    assert not holds('url.suffix(".HTML")')


def test_not_binds_tighter_than_and_and_and_tighter_than_or() -> None:
    assert holds('not "aa" and "bb" or "cc"', text="cc aa")
    assert not holds('not "aa" and ("bb" or "cc")', text="cc aa")
    assert holds('"cc" or "aa" and "bb"', text="cc")


def test_operators_are_read_in_any_case_and_without_spaces() -> None:
    assert parse('"aa"AND not"bb"Or\n"cc"') == parse('"aa" and not "bb" or "cc"')


def test_both_quotes_and_escapes() -> None:
    assert parse("'aa'") == parse('"aa"')
    assert parse(r"""category('the \'best\' "one"')""").categories == {"""the 'best' "one\""""}
    assert parse(r'category("back\\slash")').categories == {"back\\slash"}
    assert parse(r'category("as \is")').categories == {r"as \is"}


def test_categories_asked_for_are_known() -> None:
    predicate = parse('category("A.B") and not (category("C") or "aa") or category("C")')
    assert predicate.categories == {"A.B", "C"}
    assert parse('"aa"').categories == frozenset()


def test_canonical_text_is_folded_with_the_parentheses_it_needs() -> None:
    predicate = parse("""(("NBA  Finals")and(NOT('x1'or host('A.org'))))""")
    assert str(predicate) == '"nba finals" and not ("x1" or host("a.org"))'


def test_equal_predicates_hash_alike() -> None:
    assert len({parse('"NBA" and url("x")'), parse("('nba' and url('x'))")}) == 1
