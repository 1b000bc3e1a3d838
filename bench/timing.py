"""How the benchmarks take a time."""

from collections.abc import Callable
from time import perf_counter


def seconds(step: Callable[[], object], repeats: int) -> float:
    """Return the median time of a step."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        step()
        times.append(perf_counter() - start)
    return sorted(times)[repeats // 2]
