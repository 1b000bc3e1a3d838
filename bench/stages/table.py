"""The stages of a page, and the functions whose own time each of them is.

A function is named ``module:Class.method``, or ``module:function`` where it is looked up. What it calls counts
to its stage, unless that has a stage of its own.
"""

import time
from collections.abc import Mapping

from bench.command import children_cpu
from bench.stages.stopwatch import Stopwatch

#: The stage that begins once for each page.
PAGE = "judge: verdict, outcome, facts"

STAGES: Mapping[str, tuple[str, ...]] = {
    "fetch: ask, compress, send": ("agents.fetch.agent:FetchAgent._answer",),
    "fetch: read sockets": ("asyncio.selector_events:_SelectorSocketTransport._read_ready",),
    "judge: ask the examiner": ("agents.judge.agent:JudgeAgent.examine",),
    PAGE: ("agents.judge.agent:JudgeAgent.absorb",),
    "judge: near-duplicates": (
        "agents.judge.duplicates:Duplicates.original",
        "agents.judge.duplicates:Duplicates.repeated",
    ),
    "judge: kept pages": ("agents.judge.keep.store:KeptPages.keep",),
    "frontier: facts, rows, evidence": ("agents.frontier.agent:FrontierAgent.absorb",),
    "frontier: queues": ("agents.frontier.agent:FrontierAgent._settle",),
    "frontier: choose": (
        "agents.frontier.selection:Selection.choose",
        "agents.frontier.candidates:Candidates.best",
    ),
    "frontier: scores": (
        "agents.frontier.learned:LearnedScorer.priorities",
        "agents.frontier.learned:LearnedScorer.choose",
    ),
    "frontier: hear what was learned": (
        "agents.worker.worker:Worker._hear_interests",
        "streams.broadcast:Broadcast._step",
    ),
    "frontier: count own verdicts": ("agents.frontier.ledger:FrontierLedger.count",),
    "learn: count": (
        "agents.learn.agent:LearnAgent.absorb",
        "agents.learn.store:FeatureStore._close_group",
    ),
    "learn: combiner": ("agents.learn.models:ModelStore.learn",),
    "learn: tell what changed": (
        "agents.learn.agent:LearnAgent._counts",
        "agents.learn.agent:LearnAgent._combiners",
    ),
    "harvest": ("agents.harvest.agent:HarvestAgent.absorb",),
    "groups: take messages": (
        "streams.stateful:Stateful._take",
        "streams.absorber:Absorber.absorb",
    ),
    "groups: encode rows": ("streams.inbox:Shard.close_group",),
    "groups: encode messages": ("streams.outbox:Outbox.take",),
    "groups: commit": ("streams.stateful:commit",),
    "tables: read": ("streams.transport.database:TablePartition.get",),
    "tables: stage rows": ("streams.transport.database:TablePartition.stage",),
    "log: write a batch": ("streams.transport.journal:Journal.append_all",),
    "log: read": ("streams.transport.partition:Partition.read",),
    "log: drop what is old": ("streams.transport.journal:Journal.drop_expired",),
    "Faust: poll": (
        "streams.transport.embedded:Consumer._poll",
        "streams.transport.embedded:Consumer._to_message",
    ),
}

#: What is there on Kafka only.
ON_KAFKA: Mapping[str, tuple[str, ...]] = {
    "Kafka: requests and answers": (
        "aiokafka.conn:AIOKafkaConnection.send",
        "aiokafka.conn:AIOKafkaConnection._handle_frame",
        "streams.transport.kafka.lane:Wire._flush",
        "streams.transport.kafka.lane:Wire._request",
    ),
    "Kafka: batches": (
        "streams.transport.kafka.lane:Lane.append",
        "streams.transport.kafka.lane:Lane.landed",
        "streams.transport.kafka.lane:Lane._built",
    ),
    "Kafka: polls": ("streams.transport.kafka.fetcher:Fetcher._poll_all",),
    "Kafka: records of polls": ("streams.transport.kafka.fetcher:Feed.take_in",),
    "Kafka: hand records to Faust": (
        "streams.transport.kafka.consumer:Consumer._drain_messages",
        "streams.transport.offering:Offering._offer",
    ),
    "Kafka: commit offsets": ("faust.transport.consumer:Consumer.force_commit",),
    "Kafka: write tables": ("streams.transport.kafka.four_steps:Recovered.write_at",),
}


def spent(stopwatch: Stopwatch, begun: float, ended: float) -> dict[str, float]:
    """Return the CPU seconds of each stage; ``begun`` and ``ended`` are of the main thread.

    What no stage took is the rest, and all sums to what the process and its children took.
    """
    return {
        **stopwatch.spent,
        "start: imports": begun,
        "the rest: event loop, Faust, labels": ended - begun - sum(stopwatch.spent.values()),
        "other threads": time.process_time() - ended,
        "examiner: parse, predicates": children_cpu(),
    }
