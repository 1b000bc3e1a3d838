"""What the consumers of both logs have in common: they hand raw records to the agents of a Faust app."""

from collections.abc import Iterable, Mapping
from typing import Any

from faust.transport.consumer import Consumer as FaustConsumer
from faust.types import TP, ConsumerMessage

from scentline.streams.transport.layout import Entry


class Offering(FaustConsumer):
    """Offers records to the agents; where all of them are full, the next look is made once one has room."""

    async def _idle(self, active: Iterable[TP], timeout: float) -> None:
        """Return when an active partition may have something, others became active, or after the timeout."""
        raise NotImplementedError

    async def _wait_next_records(self, timeout: float) -> tuple[Any, Any]:
        active = self._get_active_partitions()
        if self.flow_active and not active:
            # every buffer is full: Faust's own consumer sleeps a second here
            await self._idle(active, timeout)
            return {}, active
        found: tuple[Any, Any] = await super()._wait_next_records(timeout)
        return found

    async def _offer(self, records: Mapping[TP, list[Entry]]) -> None:
        """Hand records over, of each partition in turn, as long as the partitions are this worker's."""
        generation = self.app.consumer_generation_id
        for tp, record in self.scheduler.iterate(records):
            if not self.flow_active or self.app.consumer_generation_id != generation:
                break
            await self.callback(self._to_message(tp, record))

    def _to_message(self, tp: TP, record: Entry) -> ConsumerMessage:
        return ConsumerMessage(
            topic=tp.topic,
            partition=tp.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            timestamp_type=0,
            headers=[],
            key=record.key,
            value=record.value,
            checksum=None,
            serialized_key_size=len(record.key or b""),
            serialized_value_size=len(record.value or b""),
            tp=tp,
            generation_id=self.app.consumer_generation_id,
        )
