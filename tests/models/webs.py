"""Small random webs and logs, for properties of counts."""

from hypothesis import strategies as st

from scentline.models.lessons import FailedRequests, JudgedPage
from scentline.models.page import Link
from scentline.models.trace import Step

URLS = [f"http://host{number % 3}.example/{number}" for number in range(9)]
WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=4, unique=True).map(tuple)
SUBJECTS = st.sampled_from(["", "a", "b c", "1 d e"])
SOME_WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=3).map(tuple)
LINKS = st.builds(Link, st.sampled_from(URLS), SOME_WORDS, SOME_WORDS, heading=SOME_WORDS)


VERDICTS = st.dictionaries(st.sampled_from(["p", "q"]), st.booleans())


def _page(urls: list[str], links: int, silent: st.SearchStrategy[bool]) -> st.SearchStrategy[JudgedPage]:
    of_links = st.lists(LINKS, max_size=links).map(tuple)
    return st.builds(JudgedPage, st.sampled_from(urls), VERDICTS, WORDS, of_links, SUBJECTS, silent=silent)


#: Pages of distinct URLs, judged for none, one or two predicates; words of links may come twice.
PAGES = st.lists(_page(URLS, 6, st.just(False)), unique_by=lambda page: page.url)
#: The same, of which some teach nothing but that they were judged.
SOME_SILENT = st.lists(_page(URLS, 6, st.booleans()), unique_by=lambda page: page.url)
#: What visits to pages found, in their order: of a URL a few at most, the first of which is its first verdict.
VISITS = st.lists(_page(URLS[:6], 4, st.just(False)), max_size=14)


#: Requests for some URLs that brought no page: tried again, or not any more.
FAILURES = st.lists(
    st.builds(FailedRequests, st.sampled_from(URLS), st.integers(1, 3), st.booleans(), st.booleans()),
    unique_by=lambda failed: failed.url,
    max_size=5,
)

#: Accesses in the order of their lines: some late, some repeated.
STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["ann", "bob", "cy"]),
        st.sampled_from(URLS),
        st.integers(0, 30).map(float),
        st.none() | st.sampled_from(URLS),
    ),
    max_size=25,
)
