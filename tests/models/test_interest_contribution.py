from hypothesis import given
from hypothesis import strategies as st

from scentline.models.interest.factors import correction, features_of, link_features

WORDS = st.lists(st.frozensets(st.sampled_from("abcdef")), max_size=4)


def test_a_judged_page_counts_under_base_url_tokens_and_words_of_its_in_linking_pages() -> None:
    found = features_of("http://ski.example/alps", [frozenset({"snow", "sea"}), frozenset({"snow"})])
    assert {"", "w:snow", "w:sea", "t:ski", "t:example", "t:alps"} == found - {"t:http:", "t:"}


def test_a_link_counts_under_each_predicate_its_source_was_judged_by() -> None:
    assert link_features({"science": True, "music": False}) == {"l:science:1", "l:music:0"}
    assert link_features({}) == frozenset()


@given(WORDS, WORDS)
def test_a_correction_is_the_difference_of_the_features(
    before: list[frozenset[str]], after: list[frozenset[str]]
) -> None:
    url = "http://example.org/"
    old, new = features_of(url, before), features_of(url, after)
    assert correction(before, after) == (new - old, old - new)
