"""The layout of the code, models pure; and what the suite does about tests that hang or leave things open."""

import ast
import builtins
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.agents.commands import environment
from tests.cases import each_case, written
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
PACKAGES = ("models", "streams", "agents")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
#: What a file holds that it must not.
Offences = Iterator[str]

#: What each package must not import.
FORBIDDEN = {
    "models": {
        "scentline.streams", "scentline.agents", "asyncio", "faust", "mode", "rocksdict", "socket", "ssl",
        "subprocess", "threading", "time", "httpx", "aiohttp", "secrets", "scentline_lab",
    },
    "streams": {"scentline.agents", "scentline_lab"},
    "agents": {"scentline_lab"},
}  # fmt: skip
#: What each room of the agents must not import: the window, but who starts it; the frontier, other roles.
WALLS = dict.fromkeys(("harvest", "operate", "worker"), ("window",)) | {
    "frontier": ("browse", "fetch", "harvest", "judge", "learn", "observe", "operate", "window")
}
#: Calls that read a clock, chance or a file.
IMPURE = {
    "open", "input", "print", "datetime.now", "datetime.today", "datetime.utcnow", "date.today",
    "datetime.datetime.now", "datetime.date.today", "os.urandom", "uuid.uuid4", "uuid.uuid1",
}  # fmt: skip
#: What every error of this program is.
BASE = "ScentlineError"
#: Methods that reach the file system, whatever they are called on.
FILE_METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "glob", "rglob"}


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def imports_forbidden(tree: ast.AST, package: str) -> Offences:
    def forbidden(name: str) -> bool:
        if package == "models" and name.startswith("random."):
            return name != "random.Random"  # the type of a generator that is passed in
        # By the package's name alone: by its folder's a module would be loaded a second time, or another's.
        return name.startswith(".") or any(
            name == banned or name.startswith(f"{banned}.") for banned in (*PACKAGES, *FORBIDDEN[package])
        )

    return (f"imports {name}" for name in imported(tree) if forbidden(name))


def impure_calls(tree: ast.AST) -> Offences:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            module_of_chance = called.startswith("random.") and called not in ("random.Random",)
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if called in IMPURE or module_of_chance or method in FILE_METHODS:
                yield f"line {node.lineno}: {called}"


def rootless_errors(tree: ast.AST) -> Offences:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
            bases = [ast.unparse(base) for base in node.bases]
            if node.name != BASE and all(hasattr(builtins, base) for base in bases):
                yield f"{node.name} is no {BASE}"


def bound_twice(tree: ast.Module) -> Offences:
    """Yield the names that a module binds to one value and then, for all its functions, to another."""
    bound: set[str] = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        names = chain.from_iterable(each.elts if isinstance(each, ast.Tuple) else [each] for each in targets)
        for name in (each.id for each in names if isinstance(each, ast.Name)):
            if name in bound:
                yield f"binds {name} twice"
            bound.add(name)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def offending(files: Iterable[Path], offences: Callable[[ast.Module, str], Iterable[str]]) -> list[str]:
    """Return what each file holds that it must not, after its path; ``offences`` is given its package too."""
    return [
        f"{path.relative_to(ROOT)}: {offence}"
        for path in files
        for offence in offences(parsed(path), path.relative_to(ROOT).parts[0])
    ]


def test_imports_go_from_agents_to_streams_to_models_only() -> None:
    assert offending(FILES, imports_forbidden) == []


def test_rooms_of_the_agents_import_nothing_from_behind_their_walls() -> None:
    def crossing(room: str) -> Callable[[ast.AST, str], Offences]:
        walls = tuple(f"scentline.agents.{other}." for other in WALLS[room])
        return lambda tree, _: (f"imports {name}" for name in imported(tree) if name.startswith(walls))

    rooms = {
        room: [file for file in FILES if Path(file.parts[len(ROOT.parts) + 1]).stem == room] for room in WALLS
    }
    assert [room for room, files in rooms.items() if not files] == []
    assert [offence for room, files in rooms.items() for offence in offending(files, crossing(room))] == []


def test_models_read_no_clock_no_chance_and_no_file() -> None:
    models = [file for file in FILES if file.is_relative_to(ROOT / "models")]
    assert offending(models, lambda tree, _: impure_calls(tree)) == []


def test_every_error_has_the_one_base() -> None:
    assert offending(FILES, lambda tree, _: rootless_errors(tree)) == []


def test_no_module_binds_a_name_twice() -> None:
    assert offending(FILES, lambda tree, _: bound_twice(tree)) == []


def test_every_module_belongs_to_a_typed_package_of_this_checkout() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in FILES} == {*PACKAGES}
    assert [str(path) for path in FILES if not (path.parent / "__init__.py").is_file()] == []
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").is_file()] == []
    modules = [importlib.import_module(f"scentline.{package}") for package in PACKAGES]
    resolved = [Path(module.__file__ or "").resolve() for module in modules]
    assert resolved == [(ROOT / package / "__init__.py").resolve() for package in PACKAGES]


def test_the_lock_holds_what_the_project_asks_for_names_no_host_and_hashes_everything() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    of = project["project"]
    asked = (*project["build-system"]["requires"], *of["dependencies"], *of["optional-dependencies"]["dev"])
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked: dict[str, list[Version]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", lock, re.MULTILINE):
        locked.setdefault(canonicalize_name(name), []).append(Version(version))
    for requirement in map(Requirement, asked):
        found = locked[canonicalize_name(requirement.name)]
        assert all(version in requirement.specifier for version in found), f"{requirement}: run `make lock`"
    assert "://" not in lock
    assert "-index" not in lock
    requirements = [block for block in re.split(r"\n(?=[A-Za-z0-9])", lock) if not block.startswith("#")]
    assert [block for block in requirements if "--hash=sha256:" not in block] == []


def test_every_case_that_is_written_is_one_of_a_test_beside_it() -> None:
    for file in (ROOT / "tests").rglob("cases.txt"):
        tests = "".join(path.read_text(encoding="utf-8") for path in file.parent.glob("test_*.py"))
        assert [name for name in written(file) if f"def {name}(" not in tests] == []


@each_case(("where", "source"))
def test_what_is_planted_is_found(where: str, source: str) -> None:
    checks = {"impure": impure_calls, "rootless": rootless_errors, "twice": bound_twice}
    assert list(checks.get(where, partial(imports_forbidden, package=where))(ast.parse(source)))


# tests that hang, and those that leave something open


LEAVES = "import asyncio, socket\ndef test_planted():\n    cycle = []\n    cycle += [cycle, {left}]\n"
LEFT = {
    "file": "open('/dev/null')", "nothing": "0", "socket": "socket.socket()",
    "loop": "asyncio.new_event_loop()",
}  # fmt: skip


def test_a_hang_is_waited_for_much_longer_than_a_slow_machine_takes(request: pytest.FixtureRequest) -> None:
    seconds = float(request.config.getini("timeout"))
    assert seconds >= 3 * PATIENCE
    assert request.config.getini("timeout_method") == "signal"
    # Its turn comes when the other has not ended the test.
    assert float(request.config.getini("faulthandler_timeout")) >= seconds + PATIENCE
    assert request.config.getini("faulthandler_exit_on_timeout") is True


def test_what_is_left_in_a_cycle_fails_the_test_that_left_it_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    for place, (name, left) in enumerate(LEFT.items()):
        (tmp_path / f"test_{place}_{name}.py").write_text(LEAVES.format(left=left))
    words = ["-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), str(tmp_path)]
    run = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False,
        timeout=PATIENCE,
    )  # fmt: skip
    wrong = re.findall(r"^ERROR test_\d_(\w+)\.py::test_planted", run.stdout, re.MULTILINE)
    assert wrong == ["file", "socket", "loop"], run.stdout
    assert run.returncode == 1
    assert "ResourceWarning" in run.stdout
