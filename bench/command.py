"""The command that benchmarks run, and the CPU time of what they start."""

import resource
import sys

COMMAND = (sys.executable, "-c", "from agents.cli import main; main()")


def children_cpu() -> float:
    """Return the CPU seconds, user and system, of all children that were waited for so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
