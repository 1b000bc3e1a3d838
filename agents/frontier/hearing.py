"""Hearing of the learner, and waiting for it a moment: the next choice is to know of the last verdicts."""

import asyncio
from contextlib import suppress

from agents.frontier.candidates import Candidates
from streams.records import Interest


class Hearing:
    """Takes in what is published of features, and waits ``seconds`` at most for what is due."""

    def __init__(self, candidates: Candidates, seconds: float) -> None:
        self._candidates = candidates
        self._seconds = seconds
        self._heard = asyncio.Event()

    def take_in(self, interest: Interest) -> None:
        """Take in what is known of a feature."""
        self._candidates.scorer.learn(interest)
        if not interest.feature:
            self._heard.set()

    async def catch_up(self) -> None:
        """Wait a moment until the learner has published what the last verdicts taught."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                while self._behind():
                    self._heard.clear()
                    await self._heard.wait()

    def _behind(self) -> bool:
        candidates = self._candidates
        judged = candidates.shards.totals().verdicts
        return any(candidates.scorer.judged(name) < judged.get(name, 0) for name in candidates.queues)
