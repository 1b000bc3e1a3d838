"""Forgetting one user of a crawl on Kafka whose workers are stopped."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from agents.crawl.connect import connect
from agents.privacy.changelogs import Changelogs, Place, find
from agents.privacy.choosing import choose_there
from agents.privacy.dates import deleted_at, gone_at, replaced_at
from agents.privacy.plan import Replacement
from agents.privacy.resting import UnrestError, check_nobody_works, check_taken_in, partitions_there
from agents.privacy.retained import Deleted, delete_taken_in, left
from agents.privacy.whose import pseudonym_of
from streams.settings import Settings
from streams.topics import APP_ID, TABLES, TOPICS, changelog_of
from streams.transport.kafka.admin import Admin
from streams.transport.publisher import FencedError, Publisher

#: Is told what is done next.
Progress = Callable[[str], None]


@dataclass
class ForgottenThere:
    """What was found of a user: rows and values of compacted topics that held the pseudonym.

    ``deleted`` are messages of everybody. Times are in seconds since the epoch: by when compaction has removed
    the old rows, by when the last of their keys too, and of each topic in which messages still bear the
    pseudonym, by when they are gone.
    """

    entries: int
    deleted: Deleted
    replaced_at: float
    deleted_at: float
    left: dict[str, float]


def forget_user_there(settings: Settings, user: str, is_name: bool, progress: Progress) -> ForgottenThere:
    """Do what `agents.privacy.forget.forget_user` does, on the broker of the settings.

    One that was interrupted is completed first, from wherever it was begun. Raises `UnrestError` where workers
    live, have not taken everything in, or are started meanwhile, `ConfigurationError` where the pseudonym can't
    be told, and `KafkaError`.
    """
    old = pseudonym_of(settings, user, is_name)
    with Admin(settings) as admin:
        partitions = partitions_there(admin)
        check_nobody_works(admin)
        try:
            return asyncio.run(_Forgetting(settings, admin, partitions, progress).run(old))
        except FencedError as error:
            raise UnrestError(
                f"forget-user: {error}; expected no worker to be started meanwhile: stop them, and give the "
                "same command once more"
            ) from error


class _Forgetting:
    def __init__(
        self, settings: Settings, admin: Admin, partitions: Mapping[str, int], progress: Progress
    ) -> None:
        self._settings = settings
        self._admin = admin
        self._partitions = partitions
        self._progress = progress
        self._entries = 0
        self._deleted = Deleted()

    async def run(self, old: str) -> ForgottenThere:
        async with connect(self._settings) as log:
            # The last place decides, and is read for that: the rows of the table harvest are the smallest.
            places = self._places(changelog_of(APP_ID, table) for table in TABLES)
            changelogs = Changelogs(self._settings, log.publisher, places)
            await changelogs.claim()
            replacement = await changelogs.replacement()
            if replacement is not None:
                await self._complete(changelogs, log.publisher, replacement)
            await changelogs.release()
            if replacement is None or replacement.old != old:
                check_taken_in(self._settings)
                self._progress("looking for what may take its place")
                replacement = await asyncio.to_thread(choose_there, old, self._settings, self._partitions)
                await changelogs.hold(replacement)
                await self._complete(changelogs, log.publisher, replacement)
                await changelogs.release()
        return self._report(old)

    async def _complete(self, changelogs: Changelogs, publisher: Publisher, replacement: Replacement) -> None:
        for topic, partition in changelogs.places:
            self._progress(f"replacing it in {topic}/{partition}")
            self._entries += await changelogs.replace((topic, partition), replacement)
        for topic, partition in self._places(topic.name for topic in TOPICS if topic.compacted):
            self._progress(f"replacing it in {topic}/{partition}")
            found = await asyncio.to_thread(find, self._settings, (topic, partition), replacement.concerns)
            changes = [change for entry in found.items() for change in replacement.of(*entry)]
            await publisher.send_all([(topic, partition, key, value) for key, value in changes])
            self._entries += len(found)
        self._progress("deleting messages")
        await asyncio.to_thread(delete_taken_in, self._admin, self._partitions, self._deleted)

    def _report(self, old: str) -> ForgottenThere:
        bearing = left(self._settings, self._partitions, old)
        times = {topic.name: gone_at(topic, written) for topic, written in bearing.items()}
        now = time.time()
        return ForgottenThere(self._entries, self._deleted, replaced_at(now), deleted_at(now), times)

    def _places(self, topics: Iterable[str]) -> list[Place]:
        return [(topic, partition) for topic in topics for partition in range(self._partitions[topic])]
