"""The programs that check manifests: those of the shared control plane, unpacked once in the checkout."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.shared import shared

ROOT = Path(__file__).parents[2]
#: Beside the virtual environment's own, so that `make clean` takes them away.
UNPACKED = ROOT / ".venv" / "kube"


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
    """Return kubectl; skips, naming it, where there is none."""
    found = shutil.which("kubectl")
    packed = ROOT.parent / "shared" / "kube" / "bin.tar.xz"
    if packed.exists() or found is None:
        return control_plane() / "kubectl"
    return Path(found)


def promtool() -> str:
    """Return promtool; skips, naming it, where there is none."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("needs promtool (on Debian: apt-get install prometheus)")
    return found
