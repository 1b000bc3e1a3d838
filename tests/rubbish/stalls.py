"""How long a crawl's event loop stood still: the longest of its turns, measured within its process.

What the process left open is a traceback on its standard error too.
"""

import re

#: Seconds of its thread's own processor time that one turn of the loop may take, however busy the machine is.
LONGEST = 0.5

#: Python to run before a command: what takes longest is told at the end. A turn that imports is the start's.
TELLS_STALLS = """\
import asyncio.events, atexit, sys, time, warnings
warnings.simplefilter("error", ResourceWarning)
turn, longest = asyncio.events.Handle._run, [0.0, ""]
def timed(handle):
    begun, known = time.thread_time(), len(sys.modules)
    task = getattr(getattr(handle._callback, "__self__", None), "get_coro", lambda: handle)()
    turn(handle)
    taken = time.thread_time() - begun
    if taken > longest[0] and len(sys.modules) == known:
        longest[:] = taken, repr(task)
asyncio.events.Handle._run = timed
atexit.register(lambda: print("longest turn:", *longest, file=sys.stderr))
"""


def longest_turn(said: str) -> tuple[float, str]:
    """Return the seconds of the longest turn, and what took them, from a command's standard error."""
    found = re.search(r"^longest turn: (\S+) (.*)$", said, re.MULTILINE)
    assert found is not None, said
    return float(found[1]), found[2]
