import pytest

from scentline.models.categories import expand
from tests.cases import each_case


@each_case("name", ["", ".", "A..B", ".A", "A.", "A. .B", "A" * 100_000])
def test_an_empty_level_or_a_long_name_is_an_error_that_names_the_category(name: str) -> None:
    with pytest.raises(ValueError, match="category") as caught:
        expand(name)
    assert repr(name)[:40] in str(caught.value)
    assert len(str(caught.value)) < 200
