"""Fuzzing guided by coverage (atheris, over libFuzzer): mutations that reach new code are mutated further."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from bench.fuzz.corpus import CORPUS, small

#: Where `make fuzz` puts the fuzzer; it lies apart from what the crawler itself needs.
ATHERIS = Path(__file__).parents[2] / ".venv" / "atheris"
#: Bytes of an input, its seconds and megabytes at most.
MOST_BYTES = 8_192
MOST_SECONDS, MOST_MEGABYTES = 10, 1_500
#: Findings after which the rest of the time is given up: most often they are one.
ENOUGH = 3
_TRIED = re.compile(r"stat::number_of_executed_units:\s*([0-9]+)")


def fuzz(reader: str, seconds: int) -> int:
    """Fuzz in processes of their own; put what fails into the corpus, and return how many inputs did."""
    end = time.monotonic() + seconds
    found: list[Path] = []
    tried = 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        seeds, failed = directory / "seeds", directory / "failed"
        for made in (seeds, failed):
            made.mkdir()
        for file, data in small(reader, MOST_BYTES):
            (seeds / file).write_bytes(data)
        while (left := int(end - time.monotonic())) > 0 and len(found) < ENOUGH:
            ended = _run(reader, seeds, failed, left)
            new = [_kept(reader, path) for path in failed.iterdir()]
            if ended.returncode and not new:
                raise SystemExit(
                    f"fuzz: {reader}: the fuzzer ended with {ended.returncode}: {ended.stderr[-2000:]}"
                )
            tried += sum(map(int, _TRIED.findall(ended.stderr)))
            found += new
    print(f"fuzz: {reader}: {tried} inputs read, {len(found)} of them wrong")
    for path in found:
        print(f"fuzz: {path}: see it again with: {sys.executable} -m bench.fuzz {reader} {path}")
    return len(found)


def _run(reader: str, seeds: Path, failed: Path, seconds: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - this interpreter, and paths of our own
        [
            sys.executable, "-m", __name__, reader, f"-max_total_time={seconds}", f"-max_len={MOST_BYTES}",
            f"-timeout={MOST_SECONDS}", f"-rss_limit_mb={MOST_MEGABYTES}", f"-artifact_prefix={failed}/",
            "-print_final_stats=1", str(seeds),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ATHERIS), os.environ.get("PYTHONPATH", "")))},
        check=False, text=True, errors="replace", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def _kept(reader: str, path: Path) -> Path:
    """Move a failed input to the corpus; its name is to be made one that says what it showed."""
    kind, _, name = path.name.partition("-")
    return Path(shutil.move(path, CORPUS / reader / f"found-{kind}-{name[:8]}"))


def _fuzz_here() -> None:
    import atheris

    with atheris.instrument_imports(include=["scentline"]):
        from bench.fuzz.mutators import MUTATORS
        from bench.fuzz.targets import TARGETS
    reader = sys.argv.pop(1)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.3:
            return bytes(atheris.Mutate(data, most))
        return MUTATORS[reader](data, random)[:most]

    atheris.Setup(sys.argv, TARGETS[reader], custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    _fuzz_here()
