"""A clock for what waits: time passes by waiting alone."""

import asyncio

import pytest


class WaitingClock:
    """Seconds, of which only those pass that someone sleeps; ``slept`` has how long each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = 0.0
        self.slept: list[float] = []

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            self.time += seconds

        monkeypatch.setattr(asyncio, "sleep", sleep)

    def __call__(self) -> float:
        return self.time
