from models.evaluate.recount import JudgedPage, recount
from models.interest.parents import kept
from models.url import identifier

YES = {"p": True}
NO = {"p": False}
A, B, C = (f"http://example.org/{name}" for name in "abc")


def test_each_word_of_the_in_linking_pages_counts_once_for_the_target() -> None:
    pages = [
        JudgedPage(A, NO, frozenset({"snow", "sea"}), (C,)),
        JudgedPage(B, YES, frozenset({"snow"}), (C,)),
        JudgedPage(C, YES, frozenset({"own"})),
    ]
    counts = recount(pages, parents=32)
    assert counts.get("", "p") == (3, 2)
    assert counts.get("w:snow", "p") == (1, 1)
    assert counts.get("w:sea", "p") == (1, 1)
    assert counts.get("w:own", "p") == (0, 0)
    assert counts.get("l:p:1", "p") == (1, 1)
    assert counts.get("l:p:0", "p") == (1, 1)
    assert counts.get("t:a", "p") == (1, 0)


def test_links_to_the_page_itself_and_to_pages_not_judged_do_not_count() -> None:
    counts = recount([JudgedPage(A, YES, frozenset({"snow"}), (A, B))], parents=32)
    assert counts.get("l:p:1", "p") == (0, 0)
    assert counts.get("w:snow", "p") == (0, 0)


def test_a_link_counts_once_however_often_the_page_holds_it() -> None:
    counts = recount([JudgedPage(A, YES, links=(B, B)), JudgedPage(B, YES)], parents=32)
    assert counts.get("l:p:1", "p") == (1, 1)


def test_the_first_occurrence_of_a_url_wins() -> None:
    counts = recount([JudgedPage(A, YES), JudgedPage(A, NO), JudgedPage(A, NO)], parents=32)
    assert counts.get("", "p") == (1, 1)


def test_only_kept_parents_contribute_words_but_every_link_counts() -> None:
    sources = [f"http://example.org/{number}" for number in range(5)]
    pages = [JudgedPage(url, NO, frozenset({f"word{url[-1]}"}), (C,)) for url in sources]
    counts = recount([*pages, JudgedPage(C, YES)], parents=2)
    chosen = kept(map(identifier, sources), identifier(C), 2)
    for url in sources:
        assert counts.get(f"w:word{url[-1]}", "p") == ((1, 1) if identifier(url) in chosen else (0, 0))
    assert counts.get("l:p:0", "p") == (5, 5)


def test_a_page_counts_only_for_the_predicates_that_judged_it() -> None:
    pages = [JudgedPage(A, {"p": True}, links=(B,)), JudgedPage(B, {"q": True})]
    counts = recount(pages, parents=32)
    assert counts.get("l:p:1", "q") == (1, 1)
    assert counts.get("l:p:1", "p") == (0, 0)
    assert counts.get("", "p") == (1, 1)
