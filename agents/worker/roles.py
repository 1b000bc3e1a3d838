"""The roles: each an agent, made of what the worker has, with what the worker does for it."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from scentline.agents.browse.agent import BrowseAgent
from scentline.agents.fetch.agent import FetchAgent
from scentline.agents.fetch.client import Client
from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.harvest.agent import HarvestAgent
from scentline.agents.judge.agent import JudgeAgent
from scentline.agents.judge.apart.process import ExaminerProcess
from scentline.agents.judge.keep.store import KeptPages
from scentline.agents.judge.predicates import Predicates
from scentline.agents.judge.rejudge import Rejudge, Room
from scentline.agents.learn.agent import LearnAgent
from scentline.agents.observe.agent import ObserveAgent
from scentline.agents.observe.observer import Observer
from scentline.streams.published import PredicateDefinition
from scentline.streams.records import Interests
from scentline.streams.runtime import Runtime
from scentline.streams.stateful import Stateful
from scentline.streams.topics import STEERING, WATCHING, Topic
from scentline.streams.transport.publisher import LogReader

Agent = TypeVar("Agent")

#: Work that goes on beside the agent's stream, without end.
Task: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
#: Takes in a message of a topic that every worker hears: its key and value. What it raises, nobody hears again.
Hear: TypeAlias = Callable[[bytes | None, bytes | None], None]


@dataclass(frozen=True)
class Part(Generic[Agent]):
    """An agent, with its inbox if it is a stateful one, and its hooks.

    ``tasks`` run while the worker does, the ``hears`` hooks get the messages of topics that every worker reads,
    ``finish`` runs at a graceful stop before the inboxes are flushed, ``report`` after.
    """

    agent: Agent
    inbox: Stateful[Any] | None = None
    tasks: tuple[Task, ...] = ()
    hears_predicate: Callable[[PredicateDefinition], None] | None = None
    hears_interests: Callable[[Interests], None] | None = None
    hears: tuple[tuple[Topic, Hear], ...] = ()
    finish: Callable[[], Awaitable[None]] | None = None
    report: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True)
class Tools:
    """What the roles of one worker are made of; a role that is not played leaves its own None."""

    observer: Observer | None = None
    client: Client | None = None
    examiner: ExaminerProcess | None = None
    predicates: Predicates | None = None
    kept: KeptPages | None = None
    reader: LogReader | None = None
    room: Room | None = None


def observe(runtime: Runtime, tools: Tools) -> Part[ObserveAgent]:
    """Return the role that turns raw log lines into accesses."""
    assert tools.observer is not None
    return Part(ObserveAgent(runtime, tools.observer))


def browse(runtime: Runtime, tools: Tools) -> Part[BrowseAgent]:
    """Return the role that keeps users' last accesses."""
    agent = BrowseAgent(runtime)
    return Part(agent, agent.inbox)


def frontier(runtime: Runtime, tools: Tools) -> Part[FrontierAgent]:
    """Return the role that keeps the candidates and chooses."""
    agent = FrontierAgent(runtime)
    beside = (part for part in (agent.patterns, agent.schedule) if part is not None)
    return Part(
        agent,
        agent.inbox,
        (agent.run, agent.standing.run, *(part.run for part in beside)),
        hears_predicate=agent.heard_predicate,
        hears_interests=agent.heard_interests,
        hears=((WATCHING, agent.standing.hear), (STEERING, agent.hear_steering)),
        finish=agent.finish,
        report=agent.report,
    )


def fetch(runtime: Runtime, tools: Tools) -> Part[FetchAgent]:
    """Return the role that asks the web."""
    assert tools.client is not None and tools.reader is not None
    return Part(FetchAgent(runtime, tools.client, tools.reader))


def judge(runtime: Runtime, tools: Tools) -> Part[JudgeAgent]:
    """Return the role that checks pages against the predicates."""
    examiner, predicates, kept = tools.examiner, tools.predicates, tools.kept
    assert examiner is not None and predicates is not None and kept is not None
    assert tools.reader is not None and tools.room is not None
    agent = JudgeAgent(runtime, examiner, predicates, kept)
    rejudge = Rejudge(agent, tools.reader, tools.room)
    return Part(agent, agent.inbox, (rejudge.run,))


def learn(runtime: Runtime, tools: Tools) -> Part[LearnAgent]:
    """Return the role that counts evidence and tells what changed."""
    agent = LearnAgent(runtime)
    return Part(
        agent,
        agent.inbox,
        (agent.run,),
        hears_predicate=lambda definition: agent.heard_predicate(definition.name),
        finish=agent.publish,
    )


def harvest(runtime: Runtime, tools: Tools) -> Part[HarvestAgent]:
    """Return the role that tells the harvest rates."""
    assert tools.reader is not None
    agent = HarvestAgent(runtime, tools.reader)
    return Part(agent, agent.inbox, (agent.stream.run,), report=agent.stream.tell)


#: How each role is made, in the order in which messages flow.
MAKERS: dict[str, Callable[[Runtime, Tools], Part[Any]]] = {
    "observe": observe, "browse": browse, "fetch": fetch, "judge": judge, "frontier": frontier,
    "learn": learn, "harvest": harvest,
}  # fmt: skip
ROLES = tuple(MAKERS)
