"""What scores candidates: by the paper's rules, by the learned policy, or not at all."""

from pathlib import Path
from typing import Protocol

from agents.frontier.learned import LearnedScorer
from agents.frontier.rows import FrontierShard, PageRow
from agents.frontier.scoring import PaperScorer
from agents.semantic.tables import read_table
from models.lessons import lessons
from streams.records import Interest
from streams.settings import LearnSettings, Policy


class Scorer(Protocol):
    """Knows what `interests` has brought of each predicate, and scores rows by it."""

    def add_predicate(self, name: str, topic: tuple[str, ...] = ()) -> None:
        """Start keeping what is known of a predicate; ``topic`` are the words that say what it is about."""

    def remove_predicate(self, name: str) -> None:
        """Forget a predicate."""

    def learn(self, interest: Interest) -> None:
        """Take in what is known of a feature."""

    def judged(self, predicate: str) -> int:
        """Return the pages a predicate has judged, as far as its published base rate knows."""

    def priority(self, shard: FrontierShard, row: PageRow, predicate: str) -> float:
        """Return a candidate's priority for a predicate; higher comes first."""

    def choose(self, shard: FrontierShard, row: PageRow, predicate: str, explored: bool) -> float | None:
        """Note in the row what a choice was made by; return the probability of a hit, if the policy has one."""


def scorer(policy: Policy, settings: LearnSettings) -> Scorer:
    """Return what scores candidates under a policy; raises what `learned_scorer` does."""
    return learned_scorer(settings) if policy == "learned" else PaperScorer(settings, lessons(policy))


def learned_scorer(settings: LearnSettings) -> LearnedScorer:
    """Return what scores candidates by the learned policy.

    Raises `models.semantic.stored.SemanticTableError` for a table of word vectors that can't be read.
    """
    return LearnedScorer(None if settings.semantic is None else read_table(Path(settings.semantic)))
