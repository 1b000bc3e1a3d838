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
    "fetch: ask, compress, send": ("scentline.agents.fetch.agent:FetchAgent._answer",),
    "fetch: read sockets": ("asyncio.selector_events:_SelectorSocketTransport._read_ready",),
    "judge: ask the examiner": ("scentline.agents.judge.agent:JudgeAgent.examine",),
    PAGE: ("scentline.agents.judge.agent:JudgeAgent.absorb",),
    "judge: near-duplicates": (
        "scentline.agents.judge.duplicates:Duplicates.original",
        "scentline.agents.judge.duplicates:Duplicates.repeated",
    ),
    "judge: kept pages": ("scentline.agents.judge.kept:KeptPages.keep",),
    "frontier: facts, rows, evidence": ("scentline.models.frontier.core:Frontier.absorb",),
    "frontier: queues": ("scentline.models.frontier.core:Frontier.committed",),
    "frontier: choose": (
        "scentline.models.frontier.selection:Selection.choose",
        "scentline.models.frontier.candidates:Candidates.best",
    ),
    "frontier: scores": (
        "scentline.models.policy.learned:LearnedScorer.priorities",
        "scentline.models.policy.learned:LearnedScorer.choose",
    ),
    "frontier: hear what was learned": (
        "scentline.agents.frontier.agent:FrontierAgent.hear_interests",
        "scentline.streams.runtime:Broadcast._step",
    ),
    "frontier: count verdicts": ("scentline.models.frontier.ledger:FrontierLedger.count",),
    "learn: absorb": ("scentline.agents.learn:LearnAgent.absorb",),
    "learn: combiner": ("scentline.agents.learn:ModelStore.learn",),
    "learn: tell what changed": ("scentline.agents.learn:LearnAgent._combiners",),
    "harvest": ("scentline.agents.harvest:HarvestAgent.absorb",),
    "groups: take messages": (
        "scentline.streams.stateful:Stateful._take",
        "scentline.streams.stateful:Stateful._absorb",
    ),
    "groups: encode rows": ("scentline.streams.inbox:Shard.close_group",),
    "groups: encode messages": ("scentline.streams.inbox:Outbox.take",),
    "groups: commit": ("scentline.streams.stateful:commit",),
    "tables: read": ("scentline.streams.transport.database:TablePartition.get",),
    "tables: stage rows": ("scentline.streams.transport.database:TablePartition.stage",),
    "log: write a batch": ("scentline.streams.transport.journal:Journal.append_all",),
    "log: read": ("scentline.streams.transport.database:Partition.read",),
    "log: drop what is old": ("scentline.streams.transport.journal:Journal.drop_expired",),
    "Faust: poll": (
        "scentline.streams.transport.embedded:Consumer._poll",
        "scentline.streams.transport.embedded:Consumer._to_message",
    ),
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
