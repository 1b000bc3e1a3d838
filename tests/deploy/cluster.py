"""A real Kubernetes control plane on loopback with fake nodes, in a directory and on ports of its own."""

import json
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from deploy.ports import free_port
from tests.deploy.programs import ROOT, control_plane
from tests.shared import shared

#: up.sh takes so many ports in a row, from API_PORT and from ETCD_PORT on.
API_PORTS = 4
ETCD_PORTS = 2
#: Seconds for the whole to come up, of 30 on a quiet machine: two attempts are half of what a test may take.
START_SECONDS = 240.0
TAIL = 2000  # characters of each log in an error


class Cluster:
    """Started by ``start``, ended by ``stop``; ``run`` is its kubectl."""

    def __init__(self, directory: Path) -> None:
        self._programs = control_plane()
        self._directory = directory
        self._state = directory / "run"
        self._environment = os.environ | {
            "KUBE_BIN": str(self._programs),
            "KUBE_RUN": str(self._state),
            "KUBE_NICE": "0",  # or it waits for all that other tests do
            "KUBECONFIG": str(self._state / "admin.kubeconfig"),
            "PATH": f"{self._programs}:{os.environ['PATH']}",
        }

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
        cache_ = f"--cache-dir={self._directory / 'cache'}"
        return subprocess.run(
            [self._programs / "kubectl", cache_, *arguments],
            capture_output=True,
            text=True,
            check=False,
            input=given,
            env=self._environment,
        )

    def ask(self, *arguments: str | Path, given: str | None = None) -> str:
        """Run kubectl, which must succeed, and return what it says."""
        done = self.run(*arguments, given=given)
        assert done.returncode == 0, f"kubectl {' '.join(map(str, arguments))}: {done.stderr}"
        return done.stdout

    def shell(self, command: str) -> None:
        """Run a command line as a person would, from the root of the checkout; it must succeed."""
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            env=self._environment,
            cwd=ROOT,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"

    def get(self, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("get", *arguments, "--output=json"))
        return found

    def volumes(self, number: int) -> None:
        """Make volumes for claims to be bound to."""
        made = subprocess.run(
            [shared("../kube/pvs.sh"), str(number), "100Gi", "standard"],
            capture_output=True,
            text=True,
            check=True,
        )
        self.ask("apply", "--server-side", "--filename=-", given=made.stdout)

    def _up(self) -> None:
        """Run up.sh to its end; where that isn't a good one, nothing is left."""
        ports = {"API_PORT": free_port(API_PORTS), "ETCD_PORT": free_port(ETCD_PORTS)}
        self._environment |= {name: str(port) for name, port in ports.items()}
        with (self._directory / "up.log").open("w") as log:
            up = subprocess.Popen(
                [shared("../kube/up.sh"), "--full"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment, start_new_session=True,
            )  # fmt: skip
        status: int | None = None
        try:
            with suppress(subprocess.TimeoutExpired):
                status = up.wait(START_SECONDS)
            assert status == 0, f"up.sh --full came to {status} with {ports}:\n{self._said()}"
        except BaseException:
            self._end(up)
            raise

    def _said(self) -> str:
        """Return the end of each log; up.sh itself tells the others' where it fails, and removes them."""
        logs = [self._directory / "up.log", *sorted((self._state / "log").glob("*.log"))]
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-TAIL:]}" for log in logs)

    def _end(self, up: subprocess.Popen[bytes]) -> None:
        """End all that up.sh started, which is of its group, and remove what it wrote."""
        with suppress(ProcessLookupError):
            os.killpg(up.pid, signal.SIGKILL)
        up.wait()
        shutil.rmtree(self._state, ignore_errors=True)
