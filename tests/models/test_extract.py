"""Fields of pages: what an expression finds, and what is none."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.extract import MOST_CHARACTERS, ExtractError, compiled, extracted
from tests.cases import each_case

SHOP = (
    "<html><p class='price old'>£<b>51</b>.<!-- odd -->77</p> <a href='/x' data-id=3>to  x</a><p>\n"
    "<ul><li>a<li>b</ul><script>price()</script>"
)


@each_case(
    ("expression", "value"),
    [
        ("css:.price", "£51.77"),
        ("css:p.price::text", "£\n.77"),
        ("css:a::attr(href), a::attr(data-id)", "/x\n3"),
        ("css:li", "a\nb"),
        ("css:.none", None),
        ("css:body", "£51.77 to x ab"),
        ("css:script", "price()"),
        ("xpath://a", "to x"),
        ("xpath:string(//li)", "a"),
        ("xpath:count(//li)", "2"),
        ("xpath:1 div 4", "0.25"),
        ("xpath:boolean(//li)", "true"),
        ("xpath://comment()", None),
        ("xpath://namespace::*", None),
    ],
)
def test_a_field_has_a_line_for_each_match(expression: str, value: str | None) -> None:
    assert extracted(SHOP, {"field": compiled(expression)}).get("field") == value


@each_case(
    ("expression", "reason"),
    [
        ("price", "expected css:SELECTOR or xpath:EXPRESSION"),
        ("css:", "expected css:SELECTOR"),
        ("css:a[", "Expected ident"),
        ("css:a::before", "of pseudo-elements there are ::text and ::attr"),
        ("css:a::attr()", "of pseudo-elements there are ::text and ::attr"),
        ("css:a::attr(href id)", "of pseudo-elements there are ::text and ::attr"),
        ("xpath:///", "Invalid expression"),
        ("xpath:$price", "Undefined variable"),
        ("xpath:document('file:///etc/passwd')", "Unregistered function"),
        ("xpath:re:test('a', 'a')", "Undefined namespace prefix"),
    ],
)
def test_what_is_no_expression_is_told(expression: str, reason: str) -> None:
    with pytest.raises(ExtractError) as caught:
        compiled(expression)
    assert reason in str(caught.value)


def test_entities_and_other_files_bring_nothing_and_a_value_is_bounded() -> None:
    html = '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><p>&x;</p><i>' + "a" * 2 * MOST_CHARACTERS
    found = extracted(html, {"p": compiled("css:p"), "i": compiled("css:i")})
    assert (found["p"], len(found["i"])) == ("&x;", MOST_CHARACTERS)


@given(st.sampled_from(["css:", "xpath:", ""]), st.text(max_size=30), st.text(max_size=100))
@example("css:", "*::attr(a b)", SHOP)
@example("xpath:", "//@*|//text()", "\0<p>\ud800")
def test_any_text_is_an_expression_or_is_told_and_any_html_can_be_asked(
    kind: str, text: str, html: str
) -> None:
    try:
        path = compiled(kind + text)
    except ExtractError:
        return
    assert all(extracted(html, {"field": path}).values())
