"""The policy `oracle`: knows the verdicts, not the way."""

from collections.abc import Collection

from models.evaluate.baselines.ranked import Ranked
from models.evaluate.crawler import Task


class Oracle(Ranked):
    """Takes a page that satisfies the predicate where links have made one known, else goes breadth-first.

    It is greedy, so no upper bound: it does not go through a page that fails to reach many that satisfy.
    ``hits`` are the URLs of the pages that satisfy the predicate; of the task it makes no use, as the log
    would tell it every URL at once.
    """

    def __init__(self, task: Task, hits: Collection[str]) -> None:
        super().__init__(lambda url: float(url in hits))
