"""The overlays as kustomize renders them."""

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.programs import ROOT, kubectl

OVERLAYS = ("dev", "prod")


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
        """Return the workers' objects by their role."""
        found = [each for each in self.kind("StatefulSet", "Deployment") if "labels" in each["metadata"]]
        return {each["metadata"]["labels"]["app.kubernetes.io/component"]: each for each in found}

    def configured(self, name: str) -> Mapping[str, str]:
        """Return the data of the ConfigMap that is generated under a name."""
        (found,) = [each for each in self.kind("ConfigMap") if each["metadata"]["name"].startswith(f"{name}-")]
        data: Mapping[str, str] = found["data"]
        return data


@cache
def render(overlay: str) -> Rendered:
    return rendered(ROOT / "deploy" / "k8s" / "overlays" / overlay)


def rendered(directory: Path) -> Rendered:
    """Return what kustomize makes of a directory."""
    run = subprocess.run([kubectl(), "kustomize", directory], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return Rendered(run.stdout)


@pytest.fixture(params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> Rendered:
    return render(request.param)


@pytest.fixture
def prod() -> Rendered:
    return render("prod")
