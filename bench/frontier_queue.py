"""Cost of the candidate queue by size, relative to 1,000 candidates: ``python -m bench.frontier_queue``."""

import random
from time import perf_counter

from bench.timing import seconds
from scentline.models.frontier.queue import CandidateQueue

SIZES = (1_000, 10_000, 100_000)
HOSTS = 30
BEST = 50
REPEATS = 300


def candidates(size: int, rng: random.Random) -> list[tuple[str, str, float, int]]:
    """Return what to put: normal priorities, as sums of logs are, over hosts of uneven size."""
    hosts = [f"h{min(rng.randrange(HOSTS), rng.randrange(HOSTS))}.org" for _ in range(size)]
    return [(f"http://{host}/{order}", host, rng.gauss(0, 1), order) for order, host in enumerate(hosts)]


def measure(size: int) -> dict[str, float]:
    """Return the seconds of each operation on a queue of this size."""
    rng = random.Random(size)
    items = candidates(size, rng)
    queue = CandidateQueue(2 * size)
    start = perf_counter()
    for item in items:
        queue.put(*item)
    costs = {"put": (perf_counter() - start) / size}

    def ready(host: str) -> bool:
        return host != "h0.org"

    def choose() -> None:
        """One choice as the frontier makes it: the best are rescored, and the first is taken."""
        best = queue.best(BEST, ready)
        for url in best:
            queue.put(url, url.split("/", 3)[2], queue.priority(url) + rng.gauss(-0.01, 0.05), 0)
        queue.discard(queue.best(1, ready)[0])

    costs[f"best({BEST})"] = seconds(lambda: queue.best(BEST, ready), REPEATS)
    costs["choice"] = seconds(choose, REPEATS)
    costs["sample"] = seconds(lambda: queue.sample(rng, ready), REPEATS)
    full = CandidateQueue(size)
    start = perf_counter()
    for repeat in range(2):
        for url, host, priority, order in items:
            full.put(f"{url}/{repeat}", host, priority, order)
    costs["put, half evicted"] = (perf_counter() - start) / (2 * size)
    return costs


def main() -> None:
    """Print a table: the cost at the first size, then ratios to it."""
    tables = [measure(size) for size in SIZES]
    print(f"{'':>18} {f'{SIZES[0]:,}':>12}" + "".join(f"{f'{size:,}':>10}" for size in SIZES[1:]))
    for name, base in tables[0].items():
        ratios = "".join(f"{table[name] / base:>9.2f}x" for table in tables[1:])
        print(f"{name:>18} {base * 1e6:>9.2f} us{ratios}")


if __name__ == "__main__":
    main()
