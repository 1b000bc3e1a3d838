"""The layout of the code: packages from this checkout, imports in one direction, models pure."""

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PACKAGES = ("models", "streams", "agents")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

#: What each package must not import.
FORBIDDEN = {
    "models": {
        "streams", "agents", "asyncio", "faust", "mode", "rocksdict", "socket", "ssl", "subprocess",
        "threading", "time", "httpx", "aiohttp", "secrets",
    },
    "streams": {"agents"},
    "agents": set(),
}  # fmt: skip
#: Calls that read a clock, chance or a file.
IMPURE = {
    "open", "input", "print", "datetime.now", "datetime.today", "datetime.utcnow", "date.today",
    "datetime.datetime.now", "datetime.date.today", "os.urandom", "uuid.uuid4", "uuid.uuid1",
}  # fmt: skip
#: Methods that reach the file system, whatever they are called on.
FILE_METHODS = {"read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "glob", "rglob"}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_forbidden(tree: ast.AST, package: str) -> list[str]:
    def forbidden(name: str) -> bool:
        if package == "models" and name.startswith("random."):
            return name != "random.Random"  # the type of a generator that is passed in
        return any(name == banned or name.startswith(f"{banned}.") for banned in FORBIDDEN[package])

    return [name for name in imported(tree) if forbidden(name)]


def impure_calls(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            module_of_chance = called.startswith("random.") and called not in ("random.Random",)
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if called in IMPURE or module_of_chance or method in FILE_METHODS:
                found.append(f"line {node.lineno}: {called}")
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_package_resolves_to_this_checkout(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__file__ is not None
    assert Path(module.__file__).resolve() == (ROOT / package / "__init__.py").resolve()


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_go_from_agents_to_streams_to_models_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert imports_forbidden(tree, path.relative_to(ROOT).parts[0]) == []


@pytest.mark.parametrize("path", [file for file in FILES if file.is_relative_to(ROOT / "models")], ids=relative)
def test_models_read_no_clock_no_chance_and_no_file(path: Path) -> None:
    assert impure_calls(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_module_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_module_belongs_to_a_package(path: Path) -> None:
    assert (path.parent / "__init__.py").is_file()


def locked() -> dict[str, list[Version]]:
    versions: dict[str, list[Version]] = {}
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", lock, re.MULTILINE):
        versions.setdefault(canonicalize_name(name), []).append(Version(version))
    return versions


def test_lock_holds_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["dev"],
        *project["project"]["optional-dependencies"]["semantic"],
    ]
    versions = locked()
    for requirement in map(Requirement, asked):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement}: run `make lock`"
        assert all(version in requirement.specifier for version in found), f"{requirement}: run `make lock`"


def test_lock_names_no_host_and_hashes_everything() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert "-index" not in lock
    requirements = [block for block in re.split(r"\n(?=[A-Za-z0-9])", lock) if not block.startswith("#")]
    assert [block for block in requirements if "--hash=sha256:" not in block] == []


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("models", "import asyncio.events"),
        ("models", "from streams import records"),
        ("models", "from random import choice"),
        ("streams", "import agents.cli"),
    ],
)
def test_a_planted_import_is_found(package: str, source: str) -> None:
    assert imports_forbidden(ast.parse(source), package)


@pytest.mark.parametrize(
    "source", ["open('x')", "random.random()", "datetime.now()", "Path('x').read_text()", "os.urandom(3)"]
)
def test_a_planted_impurity_is_found(source: str) -> None:
    assert impure_calls(ast.parse(source))
