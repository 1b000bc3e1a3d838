"""The overlays on a real Kubernetes API server: they apply, apply again, roll out, and bear evictions."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from deploy.ports import free_port
from tests.cases import each_case
from tests.deploy.conftest import OVERLAYS, ROOT, control_plane, place, render, with_component
from tests.deploy.test_operations_page import CARRIED_OUT, TEXT, commands, section
from tests.patience import PATIENCE
from tests.shared import shared

pytestmark = pytest.mark.slow

NAMESPACES = {"dev": "scentline-dev", "prod": "scentline"}
TIMEOUT = f"--timeout={PATIENCE:.0f}s"
#: up.sh takes so many ports in a row, from each of these on.
PORTS = {"API_PORT": 4, "ETCD_PORT": 2}
#: Seconds for the whole to come up, of 30 on a quiet machine: two attempts are half of what a test may take.
START_SECONDS = 240.0
TAIL = 2000  # characters of each log in an error


class Cluster:
    """A control plane on loopback with fake nodes, in a directory and on ports of its own."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._state = directory, directory / "run"
        self._kubectl = control_plane() / "kubectl"
        self._environment = os.environ | {
            "KUBE_BIN": str(control_plane()), "KUBE_RUN": str(self._state),
            "KUBE_NICE": "0",  # or it waits for all that other tests do
            "KUBECONFIG": str(self._state / "admin.kubeconfig"),
            "PATH": f"{control_plane()}:{os.environ['PATH']}",
        }  # fmt: skip

    def start(self) -> None:
        """Start it; a second time, on other ports, where the first comes to nothing."""
        try:
            self._up()
        except AssertionError as error:
            print(error)
            self._up()

    def stop(self) -> None:
        subprocess.run([shared("../kube/down.sh")], check=True, capture_output=True, env=self._environment)
        shutil.rmtree(self._directory, ignore_errors=True)

    def run(self, *arguments: str | Path, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl; its exit status is the caller's to judge."""
        return subprocess.run(
            [self._kubectl, f"--cache-dir={self._directory / 'cache'}", *arguments],
            capture_output=True, text=True, check=False, input=given, env=self._environment,
        )  # fmt: skip

    def ask(self, *arguments: str | Path, given: str | None = None) -> str:
        """Run kubectl, which must succeed, and return what it says."""
        done = self.run(*arguments, given=given)
        assert done.returncode == 0, f"kubectl {' '.join(map(str, arguments))}: {done.stderr}"
        return done.stdout

    def shell(self, command: str) -> None:
        """Run a command line as a person would, from the root of the checkout; it must succeed."""
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, env=self._environment,
            cwd=ROOT,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"

    def get(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("get", *arguments, "--output=json"))
        return found

    def _up(self) -> None:
        """Run up.sh to its end; where that isn't a good one, end all of its group, and leave nothing."""
        ports = {name: str(free_port(number)) for name, number in PORTS.items()}
        self._environment |= ports
        with (self._directory / "up.log").open("w") as log:
            up = subprocess.Popen(
                [shared("../kube/up.sh"), "--full"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment, start_new_session=True,
            )  # fmt: skip
        try:
            with suppress(subprocess.TimeoutExpired):
                up.wait(START_SECONDS)
            assert up.poll() == 0, f"up.sh --full came to {up.poll()} with {ports}:\n{self._said()}"
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(up.pid, signal.SIGKILL)
            up.wait()
            shutil.rmtree(self._state, ignore_errors=True)
            raise

    def _said(self) -> str:
        """Return the end of each log; up.sh itself tells the others' where it fails, and removes them."""
        logs = [self._directory / "up.log", *sorted((self._state / "log").glob("*.log"))]
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-TAIL:]}" for log in logs)


def carried_out(command: str) -> bool:
    """Return whether a command is one of kubectl's that the control plane can carry out."""
    words = command.split()
    return words[0] == "kubectl" and not CARRIED_OUT.isdisjoint({words[1], " ".join(words[1:3])})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster in which every overlay was applied, prod by the commands of docs/operations.md."""
    shared("../kube/up.sh")
    cluster = Cluster(tmp_path_factory.mktemp("kube"))
    cluster.start()
    try:
        volumes = [str(shared("../kube/pvs.sh")), "20", "100Gi", "standard"]  # for claims to be bound to
        made = subprocess.run(volumes, capture_output=True, text=True, check=True)
        cluster.ask("apply", "--server-side", "--filename=-", given=made.stdout)
        for command in filter(carried_out, commands(section("Deploy"))):
            if "rollout" not in command:
                cluster.shell(command)
        cluster.ask("apply", "--server-side", "--validate=strict", "--kustomize", place("dev"))
        yield cluster
    finally:
        cluster.stop()


def settle(cluster: Cluster, overlay: str) -> None:
    namespace = f"--namespace={NAMESPACES[overlay]}"
    for each in render(overlay).kind("StatefulSet", "Deployment"):
        cluster.ask("rollout", "status", f"{each['kind']}/{each['metadata']['name']}", namespace, TIMEOUT)
    allowed = "--for=jsonpath={.status.disruptionsAllowed}=1"
    cluster.ask("wait", "poddisruptionbudget", "--all", allowed, namespace, TIMEOUT)


@each_case("overlay", OVERLAYS)
def test_every_worker_rolls_out_under_the_restricted_standard_to_stay(cluster: Cluster, overlay: str) -> None:
    levels = cluster.get("namespace", NAMESPACES[overlay])["metadata"]["labels"]
    assert levels["pod-security.kubernetes.io/enforce"] == "restricted"
    settle(cluster, overlay)
    applied = cluster.run("diff", "--server-side", "--kustomize", place(overlay))
    assert (applied.returncode, applied.stdout) == (0, ""), applied.stderr


@each_case(("name", "made"), [("door", "service/scentline-door"), ("render", "apps/scentline-render")])
def test_components_can_be_applied(cluster: Cluster, tmp_path: Path, name: str, made: str) -> None:
    given = ("--server-side", "--force-conflicts", "--validate=strict", "--dry-run=server")
    assert made in cluster.ask("apply", *given, "--kustomize", with_component(tmp_path, "prod", name))


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
