"""The faults: each does its harm to a running cluster, and undoes what a person would undo."""

import asyncio
import time
from collections.abc import Callable, Iterable
from random import Random

from bench.faults.cluster import SESSION_SECONDS, Cluster
from bench.faults.workers import WorkerProcess
from scentline.agents.worker.connect import connect
from scentline.agents.worker.worker import ROLES
from scentline.streams.settings import Settings
from scentline.streams.topics import DEAD_LETTERS, INBOXES
from scentline.streams.transport.kafka.admin import Admin

#: Does its harm; returns how many times.
Fault = Callable[[Cluster, Random], int]
#: The same, to one worker of a running cluster.
Harm = Callable[[Cluster, WorkerProcess, Random], int]

#: Bounds how far a file may grow: as a full disk does, without one.
FULL_DISK = ("sh", "-c", 'ulimit -f 400; exec "$@"', "sh")
#: Python that sets a process's clock an hour back once it was asked a while.
CLOCK_BACK = """\
import itertools, time
real, asked = time.time, itertools.count()
time.time = lambda: real() - (3600 if next(asked) > 3000 else 0)
"""
#: Messages of rubbish for each topic.
POISON = 5


def at(role: str, harm: Harm) -> Fault:
    """Return the fault that does ``harm`` to one worker of a role, drawn at random."""

    def fault(cluster: Cluster, random: Random) -> int:
        playing = [worker for worker in cluster.workers.values() if {role, "all"} & set(worker.roles)]
        return harm(cluster, random.choice(playing), random)

    return fault


def kill(cluster: Cluster, worker: WorkerProcess, random: Random) -> int:
    """Kill a worker at once (SIGKILL), and start it again."""
    worker.kill()
    worker.start()
    return 1


def freeze(cluster: Cluster, worker: WorkerProcess, random: Random) -> int:
    """Stop a worker for longer than its session lasts, and let it go on."""
    worker.freeze()
    time.sleep(SESSION_SECONDS * random.uniform(1.5, 2.5))
    worker.thaw()
    return 1


def wipe(cluster: Cluster, worker: WorkerProcess, random: Random) -> int:
    """Kill a worker, and delete its disk."""
    worker.kill()
    worker.wipe()
    worker.start()
    return 1


def full_disk(cluster: Cluster, worker: WorkerProcess, random: Random) -> int:
    """Fill a worker's disk until it gives up, and then make room."""
    worker.kill()
    worker.start(prefix=FULL_DISK)
    cluster.wait(f"{worker.name} to give up on a full disk", lambda: not worker.running)
    worker.start()
    return 1


def clock_back(cluster: Cluster, worker: WorkerProcess, random: Random) -> int:
    """Set a worker's clock back by an hour while it works, and later right again."""
    worker.leave()
    worker.start(first=CLOCK_BACK)
    cluster.wait_for_pages(30)
    worker.leave()
    worker.start()
    return 2


def join_and_leave(cluster: Cluster, random: Random) -> int:
    """Have a further worker of every role join, and leave in good order when it has worked a while."""
    guest = WorkerProcess("guest", ["all"], cluster.directory, cluster.options)
    guest.start()
    try:
        cluster.wait_for_pages(30)
        guest.check()
        guest.leave()
    finally:
        guest.kill()
    return 2


def broker_crash(cluster: Cluster, random: Random) -> int:
    """Kill the broker at once (SIGKILL), and start it again after some seconds."""
    cluster.broker.kill()
    time.sleep(random.uniform(1.0, SESSION_SECONDS))
    cluster.broker.start()
    return 1


def poison(cluster: Cluster, random: Random) -> int:
    """Send rubbish to every inbox, and wait until as many dead letters have come."""
    rubbish = [random.randbytes(random.randint(0, 200)) for _ in range(POISON)]
    letters = _dead_letters(cluster.settings)
    asyncio.run(_send(cluster.settings, [INBOXES[role].name for role in ROLES], rubbish))
    expected = letters + POISON * len(ROLES)
    cluster.wait("the dead letters of the poison", lambda: _dead_letters(cluster.settings) >= expected)
    return POISON * len(ROLES)


async def _send(settings: Settings, topics: Iterable[str], values: Iterable[bytes]) -> None:
    async with connect(settings) as bus:
        await bus.send_all([(topic, 0, None, value) for topic in topics for value in values])


def _dead_letters(settings: Settings) -> int:
    with Admin(settings) as admin:
        return sum(admin.ends([(DEAD_LETTERS.name, 0)]).values())


#: All of them, in the order of the suite.
FAULTS: dict[str, Fault] = {
    **{f"kill {role}": at(role, kill) for role in ROLES},
    **{f"freeze {role}": at(role, freeze) for role in ("browse", "judge", "frontier", "learn", "fetch")},
    "join and leave": join_and_leave,
    "kill the broker": broker_crash,
    **{f"wipe {role}": at(role, wipe) for role in ("frontier", "learn")},
    "poison": poison,
    "full disk of frontier": at("frontier", full_disk),
    "clock back of frontier": at("frontier", clock_back),
}
