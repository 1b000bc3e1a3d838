"""The overlays on a real Kubernetes API server: they apply, apply again, roll out, and bear evictions."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.deploy.cluster import Cluster
from tests.deploy.conftest import OVERLAYS, render
from tests.deploy.page import TEXT, carried_out, commands, section
from tests.deploy.programs import ROOT
from tests.patience import PATIENCE
from tests.shared import shared

pytestmark = pytest.mark.slow

NAMESPACES = {"dev": "scentline-dev", "prod": "scentline"}
TIMEOUT = f"--timeout={PATIENCE:.0f}s"


def place(overlay: str) -> Path:
    return ROOT / "deploy" / "k8s" / "overlays" / overlay


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster in which every overlay was applied, prod by the commands of docs/operations.md."""
    shared("../kube/up.sh")
    cluster = Cluster(tmp_path_factory.mktemp("kube"))
    cluster.start()
    try:
        cluster.volumes(20)
        for command in filter(carried_out, commands(section("Deploy"))):
            if "rollout" not in command:
                cluster.shell(command)
        cluster.ask("apply", "--server-side", "--validate=strict", "--kustomize", place("dev"))
        yield cluster
    finally:
        cluster.stop()


@each_case("overlay", OVERLAYS)
def test_every_worker_rolls_out_under_the_restricted_standard(cluster: Cluster, overlay: str) -> None:
    levels = cluster.get("namespace", NAMESPACES[overlay])["metadata"]["labels"]
    assert levels["pod-security.kubernetes.io/enforce"] == "restricted"
    settle(cluster, overlay)


@each_case("overlay", OVERLAYS)
def test_an_overlay_that_is_applied_again_changes_nothing(cluster: Cluster, overlay: str) -> None:
    settle(cluster, overlay)
    applied = cluster.run("diff", "--server-side", "--kustomize", place(overlay))
    assert (applied.returncode, applied.stdout) == (0, ""), applied.stderr


def settle(cluster: Cluster, overlay: str) -> None:
    """Wait until all workers are there, and the controllers have seen it."""
    namespace = f"--namespace={NAMESPACES[overlay]}"
    for each in render(overlay).kind("StatefulSet", "Deployment"):
        cluster.ask("rollout", "status", f"{each['kind']}/{each['metadata']['name']}", namespace, TIMEOUT)
    allowed = "--for=jsonpath={.status.disruptionsAllowed}=1"
    cluster.ask("wait", "poddisruptionbudget", "--all", allowed, namespace, TIMEOUT)


def test_a_disruption_budget_lets_one_worker_of_a_role_go_at_a_time(cluster: Cluster) -> None:
    namespace = f"--namespace={NAMESPACES['prod']}"
    for role, each in render("prod").workers().items():
        if each["kind"] == "Deployment":
            cluster.ask("scale", f"deployment/scentline-{role}", "--replicas=2", namespace)
    settle(cluster, "prod")
    cluster.ask("cordon", "--selector=type=kwok")  # nobody comes back
    for role in render("prod").workers():
        pods = cluster.get("pods", f"--selector=app.kubernetes.io/component={role}", namespace)["items"]
        first, second = (evict(cluster, pod["metadata"]["name"]) for pod in pods[:2])
        assert first.returncode == 0, first.stderr
        assert "disruption budget" in second.stderr


def evict(cluster: Cluster, pod: str) -> subprocess.CompletedProcess[str]:
    namespace = NAMESPACES["prod"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace},
    }
    address = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    return cluster.run("create", "--raw", address, "--filename=-", given=json.dumps(eviction))


def test_the_api_server_refuses_a_misspelt_key(cluster: Cluster) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "misspelt"},
        "spec": {"maxUnavailible": 1},
    }
    applied = cluster.run(
        "apply", "--server-side", "--validate=strict", "--filename=-", given=json.dumps(budget)
    )
    assert applied.returncode != 0
    assert "maxUnavailible" in applied.stderr


def test_the_commands_of_the_operations_page_can_be_given_in_their_order(cluster: Cluster) -> None:
    deployed, _, after = TEXT.partition("\n## Upgrade")
    restarts = [command for command in commands(deployed) if "restart" in command]
    for command in filter(carried_out, [*restarts, *commands(after)]):
        cluster.shell(command)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_keda_knows_every_key_of_its_triggers(overlay: str, tmp_path: Path) -> None:
    (tmp_path / "rendered.yaml").write_text(render(overlay).text, encoding="utf-8")
    script = shared("../kube/keda_keys.py")
    checked = subprocess.run(
        [sys.executable, script, tmp_path / "rendered.yaml"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr
