"""What the pages on logs and privacy say is so."""

import re
import tomllib
from pathlib import Path

import pytest

from scentline.models.accesslog.json_lines import DEFAULTS
from scentline.models.accesslog.recognise import RECOGNISED
from scentline.models.secrets import Secrets
from scentline.streams.configuration import load
from scentline.streams.topics import ACCESSES, DAY, PROXY_LOG, SIGHTINGS

DOCS = Path(__file__).parents[1] / "docs"
LOGS = (DOCS / "logs.md").read_text(encoding="utf-8")
PRIVACY = (DOCS / "privacy.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", LOGS + PRIVACY, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_settings_shown_are_settings(text: str, tmp_path: Path) -> None:
    given = {f"observe.{name}": value for name, value in tomllib.loads(text)["observe"].items()}
    assert given
    load(given, environ={}, cwd=tmp_path)


def test_every_format_and_field_is_named() -> None:
    assert [name for name in (*RECOGNISED, *DEFAULTS) if f"`{name}`" not in LOGS] == []


def test_every_secret_shown_is_stripped() -> None:
    strip = Secrets().strip
    for name in re.findall(r"`(PHPSESSID|sid|gclid)`", PRIVACY):
        assert strip(f"http://a.org/?{name}=1") == "http://a.org/"
    assert strip("http://a.org/;jsessionid=1") == "http://a.org/"


def test_the_retention_shown_is_that_of_the_topics() -> None:
    assert {topic.retention for topic in (PROXY_LOG, ACCESSES, SIGHTINGS)} == {7 * DAY}
    assert "| 7 days, and until" in PRIVACY
