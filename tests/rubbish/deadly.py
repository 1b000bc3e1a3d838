"""A judge of categories that does to its process whatever a page names: what code in C may do on its own."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from scentline.models.page import Page
from tests.patience import PATIENCE

WHERE = Path(__file__).parents[2]


def judge(page: Page) -> list[str]:
    """Do what the title says; every page is of the category Told."""
    match page.title:
        case "abort":
            os.abort()
        case "segfault":
            ctypes.string_at(0)
        case "exit":
            os._exit(0)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "loop":
            while True:
                pass
        case "hold":  # in C, with the lock of the interpreter, whatever signals come
            sum(range(10**15))
        case "sleep":
            time.sleep(1_000_000)
        case "allocate":
            held = []
            while True:
                held.append(bytes(10_000_000))
        case "fork" | "leave":
            child = os.fork()
            if child == 0:
                if page.title == "leave":
                    os.setsid()
                time.sleep(PATIENCE)
                os._exit(0)
            Path(os.environ["FORKED"]).write_text(str(child))
        case "print":
            os.write(1, b"print")
            os.write(2, b"print")
            sys.stdout.write("print")
        case "environment":
            return [name for name in os.environ if name.startswith("SCENTLINE")] or ["None"]
    return ["Told"]


def installed(directory: Path) -> str:
    """Have the judge installed as ``deadly`` in a directory; return the PYTHONPATH by which it is found."""
    about = directory / "deadly-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: deadly\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[scentline.judges]\ndeadly = tests.rubbish.deadly:judge\n")
    return os.pathsep.join([str(directory), str(WHERE)])
