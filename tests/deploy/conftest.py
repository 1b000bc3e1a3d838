"""The programs that check manifests, and the overlays as kustomize renders them."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.shared import shared

ROOT = Path(__file__).parents[2]
#: Beside the virtual environment's own, so that `make clean` takes them away.
UNPACKED = ROOT / ".venv" / "kube"
OVERLAYS = ("dev", "prod")


def control_plane() -> Path:
    """Return the directory of etcd, kube-apiserver, kubectl and their like; skips where there is none."""
    packed = shared("../kube/bin.tar.xz")
    if not UNPACKED.exists():
        UNPACKED.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=UNPACKED.parent) as place:
            there = Path(place) / "kube"
            there.mkdir()
            subprocess.run(["tar", "-C", there, "-xJf", packed], check=True)
            try:
                there.rename(UNPACKED)
            except OSError:
                assert UNPACKED.exists()  # another process of the tests was faster
    return UNPACKED


def kubectl() -> Path:
    found = shutil.which("kubectl")
    packed = ROOT.parent / "shared" / "kube" / "bin.tar.xz"
    if packed.exists() or found is None:
        return control_plane() / "kubectl"
    return Path(found)


def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("needs promtool (on Debian: apt-get install prometheus)")
    return found


class Rendered:
    """What an overlay comes to: its objects, found by kind and name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.objects: list[dict[str, Any]] = list(yaml.safe_load_all(text))

    def kind(self, *kinds: str) -> list[dict[str, Any]]:
        return [each for each in self.objects if each["kind"] in kinds]

    def one(self, kind: str, name: str) -> dict[str, Any]:
        (found,) = [each for each in self.kind(kind) if each["metadata"]["name"] == name]
        return found

    def workers(self) -> dict[str, dict[str, Any]]:
        found = [each for each in self.kind("StatefulSet", "Deployment") if "labels" in each["metadata"]]
        return {each["metadata"]["labels"]["app.kubernetes.io/component"]: each for each in found}

    def environment(self) -> Mapping[str, str]:
        return self.configured("scentline-environment")

    def configured(self, name: str) -> Mapping[str, str]:
        (found,) = [each for each in self.kind("ConfigMap") if each["metadata"]["name"].startswith(f"{name}-")]
        data: Mapping[str, str] = found["data"]
        return data


def place(overlay: str) -> Path:
    return ROOT / "deploy" / "k8s" / "overlays" / overlay


def with_component(directory: Path, overlay: str, name: str) -> Path:
    """Write into a directory an overlay that adds a component to another one; return the directory."""
    base, component = (
        os.path.relpath(each, directory.resolve())
        for each in (place(overlay), ROOT / "deploy/k8s/components" / name)
    )
    text = yaml.safe_dump({"namespace": "scentline", "resources": [base], "components": [component]})
    (directory / "kustomization.yaml").write_text(text, encoding="utf-8")
    return directory


@cache
def render(overlay: str) -> Rendered:
    return rendered(place(overlay))


def rendered(directory: Path) -> Rendered:
    run = subprocess.run([kubectl(), "kustomize", directory], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return Rendered(run.stdout)


def pod(worker: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = worker["spec"]["template"]["spec"]
    return spec


def labels(worker: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = worker["spec"]["template"]["metadata"]["labels"]
    return found


def container(worker: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = pod(worker)["containers"]
    return found


@pytest.fixture(params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> Rendered:
    return render(request.param)


@pytest.fixture
def prod() -> Rendered:
    return render("prod")
