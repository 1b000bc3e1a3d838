import re

from hypothesis import example, given
from hypothesis import strategies as st

from scentline.agents.judge.decode import decode
from tests.cases import each_case

RUSSIAN = "Привет, это страница о хоккее. Москва — столица России, большой город на реке. " * 5
JAPANESE = "これは日本語のページです。東京は日本の首都です。スポーツについて書いています。" * 5
POLISH = "Wszystkie kobiety i mężczyźni są równi. Łódź jest dużym miastem w środku kraju. " * 5
GERMAN = "Die Straße in München ist schön und die Bäume sind grün. Über den Flüssen wächst nichts. " * 5
FRENCH = "L'été dernier, le garçon est allé à la plage où il a mangé des crêpes très sucrées. " * 5


def test_byte_order_mark_comes_before_every_declaration() -> None:
    assert decode(b"\xef\xbb\xbfcaf\xc3\xa9", "text/html; charset=iso-8859-1") == "café"
    assert decode(b"\xff\xfec\0a\0", "text/html; charset=utf-8") == "ca"
    assert decode(b"\xfe\xff\0c\0a", None) == "ca"


def test_header_comes_before_meta() -> None:
    body = '<meta charset="windows-1251">café'.encode("cp1252")
    assert decode(body, "text/html; charset=windows-1252").endswith("café")


@each_case(
    "head",
    [
        '<meta charset="koi8-r">',
        "<META CHARSET = koi8-r>",
        "<meta http-equiv='Content-Type' content='text/html; charset=koi8-r'>",
        '<?xml version="1.0" encoding="KOI8-R"?>',
        "<!-- <meta charset=windows-1252> --><meta charset=koi8-r>",
        "<meta charset=no-such-charset>",
    ],
)
def test_encoding_is_found_in_the_head(head: str) -> None:
    assert decode((head + RUSSIAN).encode("koi8-r", "replace"), "text/html").count("Москва") == 5


def test_latin_1_means_windows_1252_as_in_browsers() -> None:
    assert decode(b"\x93caf\xe9\x94 \x80", "text/html; charset=ISO-8859-1") == "“café” €"


def test_gb2312_means_gb18030() -> None:
    assert decode("镕基".encode("gb18030"), "text/html;charset=gb2312") == "镕基"


def test_utf_16_in_meta_can_only_be_utf_8() -> None:
    assert decode('<meta charset="utf-16">é'.encode(), None).endswith("é")


def test_undeclared_utf_8_is_read_as_such() -> None:
    assert decode(RUSSIAN.encode(), None) == RUSSIAN


def test_wrong_declaration_falls_back_to_the_next() -> None:
    assert decode(RUSSIAN.encode(), "text/html; charset=shift_jis") == RUSSIAN
    body = b"<meta charset=windows-1251>" + RUSSIAN.encode("cp1251")
    assert decode(body, "text/html; charset=utf-8").endswith(RUSSIAN)
    assert decode(FRENCH.encode("cp1252"), "text/html; charset=utf-8") == FRENCH


@each_case("label", ["", "x" * 1000, "rot13", "hex", "idna", "unicode_escape", "utf-7", "é", '"'])
def test_unknown_label_is_passed_over(label: str) -> None:
    assert decode("é+AGE-\\u0061".encode(), f"text/html; charset={label}") == "é+AGE-\\u0061"


def test_few_broken_bytes_do_not_change_the_encoding() -> None:
    body = RUSSIAN.encode() + b"\xff" + RUSSIAN.encode()
    assert decode(body, "text/html; charset=utf-8") == RUSSIAN + "\ufffd" + RUSSIAN
    assert decode(body[:-2], None).startswith(RUSSIAN)


@each_case(
    ("text", "codec"),
    [
        (RUSSIAN, "cp1251"),
        (RUSSIAN.replace("—", "-"), "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (POLISH, "cp1250"),
        (GERMAN, "cp1252"),
        (FRENCH, "cp1252"),
        ("这是一个关于体育的网页。北京是中国的首都。" * 10, "gbk"),
    ],
)
def test_undeclared_encoding_is_detected_after_a_long_ascii_head(text: str, codec: str) -> None:
    head = b"<html><head><title>x</title>\n" + b"<style>p {}</style>\n" * 1000
    assert decode(head + text.encode(codec), "text/html")[len(head) :] == text


def test_too_little_to_detect_is_windows_1252() -> None:
    assert decode(b"caf\xe9", None) == "café"


def test_hostile_heads_are_read_in_time_bounded_by_their_prefix() -> None:
    for piece in (b"<meta ", b"<!--", b"<?xml ", b"charset="):
        assert decode(piece * 100_000, None) == (piece * 100_000).decode()


@given(st.binary(max_size=300), st.one_of(st.none(), st.text(max_size=40)))
@example(b"\xff", "charset=iso-2022-jp")
@example(b"\x1b$B\xff\xff", "text/html; charset=iso-2022-jp")
@example(b"\x81", "charset=utf-16le")
def test_any_bytes_are_decoded(body: bytes, content_type: str | None) -> None:
    text = decode(body, content_type)
    assert re.search("[\ud800-\udfff]", text) is None
