"""A browser with less than its user has: as a program, this gives up what it can and becomes the browser.

Arguments: a file for its number and what the system did not allow, and the browser's command.
"""

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

from scentline.agents.judge.apart import die_first
from scentline.agents.signals import die_with_parent

_NOBODY: Final = 65_534
_NEW_USER, _NEW_PIDS, _NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000  # of unshare(2)
_PROFILE: Final = "--user-data-dir="


def confined(command: list[str]) -> tuple[list[str], list[str]]:
    """Confine this process, and return the command to become, and what the system did not allow."""
    missing = []
    root = os.geteuid() == 0
    if not (_unshared(_NEW_NETWORK) if root else _alone()):
        missing.append("network of its own")
    if root and not _nobody(command):
        missing.append("user of its own")
    if os.geteuid() == 0 or not _in_child(_NEW_USER | _NEW_PIDS | _NEW_NETWORK):
        missing.append("sandbox")
        command = [*command, "--no-sandbox"]
    die_first()
    die_with_parent()  # last: another user would no longer die
    return command, missing


def _unshared(flags: int) -> bool:
    return bool(ctypes.CDLL(None).unshare(flags) == 0)


def _alone() -> bool:
    """Enter namespaces of network and users, as the same user."""
    user, group = os.getuid(), os.getgid()
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    if not _unshared(_NEW_USER | _NEW_NETWORK):
        return False
    for name, text in maps.items():
        Path("/proc/self", name).write_text(text, encoding="ascii")
    return True


def _nobody(command: list[str]) -> bool:
    """Become nobody, whose the browser's directory becomes as well."""
    try:
        for profile in (each.removeprefix(_PROFILE) for each in command if each.startswith(_PROFILE)):
            os.chown(profile, _NOBODY, _NOBODY)
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    except OSError:
        return False
    return True


def _in_child(flags: int) -> bool:
    """Return whether a child may enter new namespaces, as Chromium's sandbox does."""
    child = os.fork()
    if not child:
        os._exit(0 if _unshared(flags) else 1)
    return os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
    # Opened before: another user may not write it.
    with Path(sys.argv[1]).open("w", encoding="ascii") as report:
        browser, missing = confined(sys.argv[2:])
        report.write("\n".join([str(os.getpid()), *missing]))
    os.execv(browser[0], browser)  # noqa: S606
