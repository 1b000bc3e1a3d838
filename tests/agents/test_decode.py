"""The text of a page in the encoding that browsers find; that any bytes are decoded, `test_parse` holds."""

from scentline.agents.judge.decode import decode
from tests.cases import each_case

RUSSIAN = "Привет, это страница о хоккее. Москва — столица России, большой город на реке. " * 5
JAPANESE = "これは日本語のページです。東京は日本の首都です。スポーツについて書いています。" * 5
POLISH = "Wszystkie kobiety i mężczyźni są równi. Łódź jest dużym miastem w środku kraju. " * 5
GERMAN = "Die Straße in München ist schön und die Bäume sind grün. Über den Flüssen wächst nichts. " * 5
FRENCH = "L'été dernier, le garçon est allé à la plage où il a mangé des crêpes très sucrées. " * 5


@each_case(
    ("body", "content_type", "text"),
    [
        # A byte order mark comes before the header, and that before the page.
        (b"\xef\xbb\xbfcaf\xc3\xa9", "text/html; charset=iso-8859-1", "café"),
        (b"\xff\xfec\0a\0", "text/html; charset=utf-8", "ca"),
        (b"\xfe\xff\0c\0a", None, "ca"),
        ('<meta charset="windows-1251">café'.encode("cp1252"), "text/html; charset=windows-1252", "café"),
        # As in browsers, a label may mean more than it says.
        (b"\x93caf\xe9\x94 \x80", "text/html; charset=ISO-8859-1", "“café” €"),
        ("镕基".encode("gb18030"), "text/html;charset=gb2312", "镕基"),
        ("né".encode("utf-16-le"), "text/html; charset=utf-16", "né"),
        ('<meta charset="utf-16">é!'.encode(), None, "é!"),
        # Without a declaration, or with a wrong one.
        (RUSSIAN.encode(), None, RUSSIAN),
        (RUSSIAN.encode(), "text/html; charset=shift_jis", RUSSIAN),
        (b"<meta charset=windows-1251>" + RUSSIAN.encode("cp1251"), "text/html; charset=utf-8", RUSSIAN),
        (FRENCH.encode("cp1252"), "text/html; charset=utf-8", FRENCH),
        (b"caf\xe9", None, "café"),
        # A few broken bytes do not change the encoding.
        (RUSSIAN.encode() + b"\xff!", "text/html; charset=utf-8", RUSSIAN + "\ufffd!"),
        (b"<p>" + RUSSIAN.encode() + b"\xd0", None, RUSSIAN + "\ufffd"),
        *(((head + RUSSIAN).encode("koi8-r", "replace"), "text/html", RUSSIAN.replace("—", "?")) for head in (
            '<meta charset="koi8-r">', "<META CHARSET = koi8-r>", '<?xml version="1.0" encoding="KOI8-R"?>',
            "<meta http-equiv='Content-Type' content='text/html; charset=koi8-r'>",
            "<!-- <meta charset=windows-1252> --><meta charset=koi8-r>", "<meta charset=no-such-charset>")),
    ],
)  # fmt: skip
def test_a_page_is_read_in_the_encoding_of_browsers(body: bytes, content_type: str | None, text: str) -> None:
    assert decode(body, content_type).endswith(text)


@each_case("label", ["", "x" * 1000, "rot13", "hex", "idna", "unicode_escape", "utf-7", "é", '"'])
def test_unknown_label_is_passed_over(label: str) -> None:
    assert decode("é+AGE-\\u0061".encode(), f"text/html; charset={label}") == "é+AGE-\\u0061"


@each_case(
    ("text", "codec"),
    [
        (RUSSIAN, "cp1251"), (RUSSIAN.replace("—", "-"), "koi8-r"), (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"), (POLISH, "cp1250"), (GERMAN, "cp1252"), (FRENCH, "cp1252"),
        ("这是一个关于体育的网页。北京是中国的首都。" * 10, "gbk"),
    ],
)  # fmt: skip
def test_undeclared_encoding_is_detected_after_a_long_ascii_head(text: str, codec: str) -> None:
    head = b"<html><head><title>x</title>\n" + b"<style>p {}</style>\n" * 1000
    assert decode(head + text.encode(codec), "text/html")[len(head) :] == text
