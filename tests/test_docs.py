"""Pages written from code say what the code says."""

from pathlib import Path

from scentline.streams.configuration import keys
from scentline.streams.settings_docs import markdown

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"


def test_settings_page_is_what_the_class_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run `make docs`"


def test_settings_page_names_every_key() -> None:
    assert [key for key in keys() if f"| `{key}` |" not in markdown()] == []
