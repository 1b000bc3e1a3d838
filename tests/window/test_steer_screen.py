"""The screen Steer: which budget is in force, by whoever knows it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scentline.agents.window.screens import steer
from scentline.streams.published import Limit, Standing
from scentline.streams.topics import STANDING, STEERING
from tests.window.test_next_screen import reading

TOLD = Standing(
    worker="0", time=90.0, state="running", partitions=1, of=1, queued={}, budget=500, requests_budget=0
)


@pytest.mark.parametrize(
    ("told", "limited", "in_force"),
    [
        (None, None, {"pages": None, "requests": None}),
        (TOLD, None, {"pages": 500, "requests": 0}),
        (TOLD, 91.0, {"pages": 70, "requests": 0}),
        (TOLD, 89.0, {"pages": 500, "requests": 0}),
        (None, 89.0, {"pages": 70, "requests": None}),
    ],
)
def test_the_budget_in_force_is_what_frontiers_told_or_what_was_set_since(
    tmp_path: Path, told: Standing | None, limited: float | None, in_force: dict[str, Any]
) -> None:
    with reading(tmp_path) as (opened, journal, _):
        if told is not None:
            journal.append(STANDING.name, 0, b"0", msgspec.json.encode(told), 0.0)
        if limited is not None:
            limit = Limit(name="pages", most=70, setting=60, time=limited)
            journal.append(STEERING.name, 0, b"budget:pages", msgspec.json.encode(limit), 0.0)
        view = msgspec.json.decode(msgspec.json.encode(steer.view(opened, steer.Query())))
        assert view["budget"] == in_force
