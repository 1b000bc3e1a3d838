"""Batches that go to the same broker at the same moment share one request: a broker takes up one at a time."""

import asyncio

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import LeaderNotAvailableError, NoError, for_code
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.structs import TopicPartition

from streams.transport.kafka.connection import REQUEST_SECONDS

#: Bytes up to which batches share a request.
SHARED_BYTES = 16 * 1024 * 1024

Answer = asyncio.Future[int]


class Wire:
    """Sends record batches to the leaders of their partitions, all replicas in sync to have them."""

    def __init__(self, client: AIOKafkaClient) -> None:
        self.client = client
        self._waiting: dict[TopicPartition, tuple[bytes, Answer]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def produce(self, place: TopicPartition, batch: bytes) -> int:
        """Send a batch, the only one under way to its partition; return its first record's offset.

        Raises the error of the broker, or of the connection.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush)
        answer: Answer = loop.create_future()
        self._waiting[place] = (batch, answer)
        return await answer

    def _flush(self) -> None:
        shares: dict[int, dict[TopicPartition, tuple[bytes, Answer]]] = {}
        sizes: dict[int, int] = {}
        for place, (batch, answer) in self._waiting.items():
            leader = self.client.cluster.leader_for_partition(place)
            if leader is None or leader == -1:
                _settle(answer, LeaderNotAvailableError())
                continue
            if sizes.get(leader, 0) + len(batch) > SHARED_BYTES and leader in shares:
                self._send(leader, shares.pop(leader))
                sizes[leader] = 0
            shares.setdefault(leader, {})[place] = (batch, answer)
            sizes[leader] = sizes.get(leader, 0) + len(batch)
        self._waiting = {}
        for leader, share in shares.items():
            self._send(leader, share)

    def _send(self, leader: int, share: dict[TopicPartition, tuple[bytes, Answer]]) -> None:
        task = asyncio.create_task(self._request(leader, share))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _request(self, leader: int, share: dict[TopicPartition, tuple[bytes, Answer]]) -> None:
        topics: dict[str, list[tuple[int, bytes]]] = {}
        for place, (batch, _) in share.items():
            topics.setdefault(place.topic, []).append((place.partition, batch))
        request = ProduceRequest(None, -1, int(REQUEST_SECONDS * 1000), list(topics.items()))
        try:
            response = await self.client.send(leader, request)
        except Exception as error:
            for _, answer in share.values():
                _settle(answer, error)
            return
        for topic, partitions in response.topics:
            for partition, code, offset, *_ in partitions:
                _, answer = share[TopicPartition(topic, partition)]
                failure = for_code(code)
                _settle(answer, offset if failure is NoError else failure())


def _settle(answer: Answer, outcome: int | Exception) -> None:
    if answer.done():
        return
    if isinstance(outcome, Exception):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)
