"""What is built of the source: one package, that works wherever it is installed, whatever is there."""

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

from deploy.manifests.files import ROOT
from tests.agents.commands import last_line
from tests.agents.test_archive import write
from tests.patience import PATIENCE

PAGES = 40


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the wheel and the source archive."""
    out = tmp_path_factory.mktemp("built")
    kinds = ("--target", "sdist", "--target", "wheel")
    run([sys.executable, "-m", "hatchling", "build", *kinds, "--directory", str(out)], ROOT)
    return out


def run(command: list[str], cwd: Path) -> str:
    """Return what a command prints that finds nothing of this checkout by itself, and has to go well."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=variables | {"SCENTLINE_OBSERVE__USER_KEY": "key"},
        timeout=PATIENCE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_hold_the_three_packages_as_one(built: Path) -> None:
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    rooms = [ROOT / room for room in ("agents", "models", "streams")]
    wanted = {str(path.relative_to(ROOT)) for room in rooms for path in room.rglob("*.py")}
    wanted |= {"agents/window/static/main.js", "agents/semantic/words.table", "streams/py.typed"}
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {
        "scentline",
        f"scentline-{version('scentline')}.dist-info",
    }
    assert wanted <= {name.removeprefix("scentline/") for name in names}
    with tarfile.open(source) as archive:
        assert wanted <= {name.rpartition("/src/scentline/")[2] for name in archive.getnames()}


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_it_crawls_beside_another_package_named_agents(built: Path, tmp_path: Path, kind: str) -> None:
    (archive,) = built.glob(kind)
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    (packages,) = (tmp_path / "venv" / "lib").glob("*/site-packages")
    # What it depends on is there already: nothing is fetched.
    (packages / "dependencies.pth").write_text(str(Path(typer.__file__).parents[1]), encoding="utf-8")
    for name in ("agents", "models", "streams"):
        (packages / f"{name}.py").write_text("raise ImportError('of somebody else')", encoding="utf-8")
    run(
        [
            sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index",
            "--no-deps", "--disable-pip-version-check", "--no-build-isolation", str(archive),
        ],
        tmp_path,
    )  # fmt: skip
    command = str(python.with_name("scentline"))
    assert run([command, "--version"], tmp_path).split()[-1] == version("scentline")
    html = [("Content-Type", "text/html")]
    links = (f'<a href="/{2 * at + 1}">left</a> <a href="/{2 * at + 2}">right</a>' for at in range(PAGES))
    bodies = (f"<title>{number}</title>{both}".encode() for number, both in enumerate(links))
    pages = ((f"http://a.org/{number}", "200 OK", html, body) for number, body in enumerate(bodies))
    write(tmp_path / "pages.warc.gz", *pages)
    # Pages this short are alike.
    options = ("--seed", "http://a.org/0", "--predicate", 'all=title("*")', "--set", "judge.duplicates=false")
    crawl = [command, "crawl", "--archive", "pages.warc.gz", *options, "--json"]
    summary = last_line(run(crawl, tmp_path))
    assert (summary["fetched"], summary["predicates"]["all"]["hits"]) == (PAGES, PAGES)
    files = json.loads(run([str(python), "-c", _WHERE], tmp_path))
    assert all(Path(file).is_relative_to(packages) for file in files)


_WHERE = (
    "import json, scentline.agents as a, scentline.models as m; print(json.dumps([a.__file__, m.__file__]))"
)
