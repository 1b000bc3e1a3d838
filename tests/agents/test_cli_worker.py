"""What the worker command says before it starts anything."""

from pathlib import Path

import pytest

from tests.agents.commands import complaint

BROKER = ("--broker", "kafka://127.0.0.1:9")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("judge",), "expected kafka://HOST:PORT from --broker or the setting broker"),
        (("judges",), "no role 'judges'; expected some of observe, browse, fetch, judge"),
        (("fetch", *BROKER), "names no contact, so nothing may be fetched"),
        (("judge", *BROKER, "--set", 'predicates.a=category("b")'), "predicate a needs a judge of categories"),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    assert said in complaint(tmp_path, "worker", *arguments)
    assert not (tmp_path / "scentline-data").exists()


def test_who_observes_needs_the_key_of_the_pseudonyms(tmp_path: Path) -> None:
    said = complaint(tmp_path, "worker", "observe", *BROKER, SCENTLINE_OBSERVE__USER_KEY="")
    assert "observe.user_key: missing" in said
