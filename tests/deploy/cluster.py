"""A real Kubernetes control plane on loopback with fake nodes, in a directory and on ports of its own."""

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.deploy.programs import ROOT, control_plane
from tests.patience import PATIENCE
from tests.shared import shared

#: up.sh takes so many ports in a row, from API_PORT and from ETCD_PORT on.
API_PORTS = 4
ETCD_PORTS = 2


class Cluster:
    """Started by ``start``, ended by ``stop``; ``run`` is its kubectl."""

    def __init__(self, directory: Path) -> None:
        self._programs = control_plane()
        self._directory = directory
        api, etcd = ports_in_a_row(API_PORTS), ports_in_a_row(ETCD_PORTS)
        self._environment = os.environ | {
            "KUBE_BIN": str(self._programs),
            "KUBE_RUN": str(directory / "run"),
            "KUBECONFIG": str(directory / "run" / "admin.kubeconfig"),
            "API_PORT": str(api),
            "ETCD_PORT": str(etcd),
            "PATH": f"{self._programs}:{os.environ['PATH']}",
        }

    def start(self) -> None:
        self._script("up.sh", "--full")

    def stop(self) -> None:
        self._script("down.sh")
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

    def _script(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [shared(f"../kube/{name}"), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=self._environment,
        )
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"


def ports_in_a_row(number: int) -> int:
    """Return the first of some ports of loopback in a row that nothing listens on at the moment."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        probes: list[socket.socket] = []
        try:
            first = 0
            for position in range(number):
                probe = socket.socket()
                probes.append(probe)
                probe.bind(("127.0.0.1", first + position if first else 0))
                first = first or int(probe.getsockname()[1])
            return first
        except (OSError, OverflowError):
            continue
        finally:
            for probe in probes:
                probe.close()
    raise AssertionError(f"no {number} free ports in a row")
