import pytest

from scentline.models.categories import expand
from tests.cases import each_case


def test_category_brings_every_category_above_it() -> None:
    assert expand("Science.Biology.Birds") == {"Science", "Science.Biology", "Science.Biology.Birds"}


def test_category_without_levels_is_itself() -> None:
    assert expand("Science") == {"Science"}


@each_case("name", ["", ".", "A..B", ".A", "A.", "A. .B"])
def test_empty_level_is_an_error_that_names_the_category(name: str) -> None:
    with pytest.raises(ValueError, match="separated by single dots") as caught:
        expand(name)
    assert repr(name) in str(caught.value)


def test_long_name_is_an_error_with_a_short_message() -> None:
    with pytest.raises(ValueError, match="at most 300") as caught:
        expand("A" * 100_000)
    assert len(str(caught.value)) < 200
