"""Apache Kafka's jars: from Maven Central, checked against ``jars.sha256``, cached in a directory."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
#: Where ``make kafka`` and the tests keep the jars, and ``make kafka`` its broker; git ignores it.
CACHE = HERE.parents[1] / ".kafka"


class BrokerError(Exception):
    """A broker that can't be run; the text says what is wrong and what to do."""


class MissingProgramError(BrokerError):
    """A program that is not installed on this machine."""


def classpath(cache: Path = CACHE) -> str:
    """Return Java's class path of the jars; fetches them first if they are missing.

    It names the known jars one by one, so that no other file in the directory runs. Several processes may call
    it at a time. Raises `BrokerError` for a jar with another digest, or without Maven.
    """
    expected = _expected()
    directory = cache / "jars"
    cache.mkdir(exist_ok=True)
    with _locked(cache / "lock"):
        if not directory.exists():
            _fetch(directory, expected)
        else:
            _check(directory, expected)
    return os.pathsep.join(str(directory / name) for name in expected)


def require(program: str, package: str) -> str:
    """Return a program's path; raises `MissingProgramError`, which names its Debian ``package``."""
    path = shutil.which(program)
    if path is None:
        raise MissingProgramError(
            f"needs {program}, which is not installed (on Debian: apt-get install {package})"
        )
    return path


def _expected() -> dict[str, str]:
    """Return each jar's SHA-256 by its name."""
    lines = (HERE / "jars.sha256").read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def _fetch(directory: Path, expected: dict[str, str]) -> None:
    maven = require("mvn", "maven")
    print(f"getting the {len(expected)} jars of Apache Kafka from Maven Central, 43 MB", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=directory.parent) as temporary:
        partial = Path(temporary) / "jars"
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
        run = subprocess.run(  # noqa: S603 - no shell reads it
            [maven, "--batch-mode", "--quiet", "--strict-checksums", "--file", str(HERE / "pom.xml"), *goal],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if run.returncode:
            raise BrokerError(f"Maven could not get the jars of Apache Kafka:\n{run.stdout.strip()[-2000:]}")
        _check(partial, expected)
        partial.rename(directory)


def _check(directory: Path, expected: dict[str, str]) -> None:
    for name, digest in expected.items():
        try:
            found = hashlib.sha256((directory / name).read_bytes()).hexdigest()
        except FileNotFoundError:
            found = "none"
        if found != digest:
            raise BrokerError(
                f"{name}: expected SHA-256 {digest}, found {found}; delete {directory} to get it anew"
            )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
