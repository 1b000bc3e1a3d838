"""Secrets leave visited URLs; what is no secret stays as it was."""

from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.secrets import ENDINGS, LONG, NAMES, Secrets
from models.url import canonical

proven = settings(derandomize=True, deadline=None)


def strip(url: str, *more: str) -> str | None:
    return Secrets(more).strip(url)


@pytest.mark.parametrize(
    ("url", "left"),
    [
        ("/a?token=x", "/a"),
        ("/a?page=2&access_token=x&sort=up", "/a?page=2&sort=up"),
        ("/a?PHPSESSID=1f&b=2", "/a?b=2"),
        ("/a?b=2;sid=1f;c=3", "/a?b=2;c=3"),
        ("/a?X-Amz-Security-Token=x&X-Amz-Signature=y", "/a"),
        ("/a?api_key=x", "/a"),
        ("/a?api-key=x&APIKEY=y&Api.Key=z", "/a"),
        ("/a?user[password]=x&form[page]=y", "/a?form[page]=y"),
        ("/a?q=who%3Fme%40example.org", "/a"),
        ("/a?q=me@example.org", "/a"),
        ("/a?me@example.org", "/a"),
        ("/a?next=%2Fb%3Ftoken%3Dx&c=1", "/a?c=1"),
        ("/a?next=http%253A%252F%252Fe.org%252F%253Fsid%253Dx", "/a"),
        ("/a?next=http://me:pw@e.org/", "/a"),
        ("/a?a%26token=x", "/a?a"),
        ("/a?x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln", "/a"),
        ("/a?code=4%2F0AY0e-g7X9abcdefgh", "/a"),
        ("/a;jsessionid=1F2E", "/a"),
        ("/a;jsessionid=1F2E/b;v=2;sid=3/c", "/a/b;v=2/c"),
        ("/a;jsessionid=1F?b=1", "/a?b=1"),
        ("/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "/a.aspx"),
        ("/a%3Bjsessionid=1F", "/a"),
    ],
)
def test_secrets_go_and_the_rest_stays(url: str, left: str) -> None:
    assert strip(f"http://e.org{url}") == f"http://e.org{left}"


@pytest.mark.parametrize(
    "url",
    [
        *("/", "/a/b.html", "/a?b=1&c=2", "/a?page=2;sort=up", "/a?monkey=1&design=2&author=me", "/a;v=1/b"),
        *("/a?code=de", "/a?state=open", "/a?id=7", "/a?q=a%20b", "/Foo_(bar)", "/a?token_count", "/a?q=@home"),
        *("/a?tokens=7", "/passwords/list", "/token/a", "/@someone", "/a?next=%2Fb%3Fc%3D1", "/a%20b"),
    ],
)
def test_what_is_no_secret_stays(url: str) -> None:
    assert strip(f"http://e.org{url}") == f"http://e.org{url}"


@pytest.mark.parametrize(
    "url",
    ["/me@example.org", "/unsubscribe/me%40example.org/now", "/confirm/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMj"],
)
def test_a_secret_that_is_part_of_the_page_can_not_be_taken_out(url: str) -> None:
    assert strip(f"http://e.org{url}") is None


def test_more_names_can_be_given() -> None:
    assert strip("http://e.org/a?ref_code=7&b=1") == "http://e.org/a?ref_code=7&b=1"
    assert strip("http://e.org/a;REFCODE=7?ref_code=7&b=1", "ref-code") == "http://e.org/a?b=1"


PARAMETERS = st.tuples(
    st.sampled_from([*sorted(NAMES), *(f"x_{end}" for end in ENDINGS), *sorted(LONG), "page", "q"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x2FF), max_size=20),
    st.booleans(),
)


@proven
@given(st.lists(PARAMETERS, max_size=6), st.sampled_from("&;"))
def test_no_secret_parameter_is_left_and_the_result_is_canonical_and_stays(
    parameters: list[tuple[str, str, bool]], mark: str
) -> None:
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


@proven
@given(st.text(max_size=80))
def test_any_canonical_url_can_be_stripped(text: str) -> None:
    url = canonical(f"http://e.org/{text}")
    if url is not None:
        left = strip(url)
        assert left is None or (canonical(left) == left and strip(left) == left)
