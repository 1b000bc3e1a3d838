"""Secrets leave visited URLs; what is no secret stays as it was."""

from base64 import urlsafe_b64encode
from random import Random
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.secrets import ENDINGS, LONG, NAMES, Secrets
from scentline.models.url import canonical
from tests.cases import each_case


def strip(url: str, *more: str) -> str | None:
    return Secrets(more).strip(url)


@each_case(("url", "left"))
def test_secrets_go_and_the_rest_stays(url: str, left: str) -> None:
    assert strip(f"http://e.org{url}") == f"http://e.org{left}"


def test_more_names_can_be_given() -> None:
    assert strip("http://e.org/a?ref_code=7&b=1") == "http://e.org/a?ref_code=7&b=1"
    assert strip("http://e.org/a;REFCODE=7?ref_code=7&b=1", "ref-code") == "http://e.org/a?b=1"


@each_case("name")
def test_a_parameter_that_says_that_it_is_secret_or_names_a_person_goes(name: str) -> None:
    left = strip(f"http://e.org/a?{name}=7b1&page=2")
    assert left is None or left == "http://e.org/a?page=2"


@each_case("parameter")
def test_a_value_that_is_secret_goes_whatever_its_name(parameter: str) -> None:
    assert strip(f"http://e.org/a?page=2&{parameter}") == "http://e.org/a?page=2"


@each_case("url")
def test_a_link_that_acts_works_once_or_is_itself_a_secret_is_not_to_be_followed(url: str) -> None:
    assert strip(f"http://e.org{url}") is None


@each_case("url")
def test_what_only_resembles_a_secret_stays(url: str) -> None:
    assert strip(f"http://e.org{url}") == f"http://e.org{url}"


@each_case("kind", ["hexadecimal", "base64"])
def test_nearly_every_token_is_seen_to_be_drawn_by_chance(kind: str) -> None:
    random = Random(7)
    drawn = [random.randbytes(24) for _ in range(1_000)]
    texts = [data.hex() if kind == "hexadecimal" else urlsafe_b64encode(data).decode() for data in drawn]
    assert sum(strip(f"http://e.org/a?x={text}") == "http://e.org/a" for text in texts) > 980


#: Parts that a hostile URL repeats.
PARTS = """eyJ eyJaaaaaaaa. aB1- //a 'a': a@ //a@ %2525 reset/ logout verif invit&"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", PARTS.split())
def test_a_url_of_one_part_again_and_again_is_read_in_a_time_that_grows_with_it(part: str) -> None:
    text = part * (200_000 // len(part))
    for where in ("", "?", "?x="):
        strip(f"http://e.org/{where}{text}")


PARAMETERS = st.tuples(
    st.sampled_from([*sorted(NAMES), *(f"x_{end}" for end in ENDINGS), *sorted(LONG), "page", "q"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x2FF), max_size=20),
    st.booleans(),
)


@given(st.lists(PARAMETERS, max_size=6), st.sampled_from("&;"))
def test_no_secret_is_left_and_the_result_stays(parameters: list[tuple[str, str, bool]], mark: str) -> None:
    planted = "SeCr3tVaLuE-0123456789"
    query = mark.join(
        f"{name.upper() if upper else name}={planted if name not in ('page', 'q') else quote(value)}"
        for name, value, upper in parameters
    )
    url = canonical(f"http://e.org/a?{query}")
    assert url is not None
    left = strip(url)
    assert left is not None
    assert planted not in left
    assert canonical(left) == left
    assert strip(left) == left
