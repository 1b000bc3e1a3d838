"""The current text of every generated file under deploy/, by name."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from deploy.manifests.configuration import configuration
from deploy.manifests.lock import build_lock, lab_lock, render_lock, runtime_lock
from deploy.manifests.panels import dashboard
from deploy.manifests.topics import topics
from deploy.manifests.users import users

DEPLOY = Path(__file__).parents[1]
ROOT = DEPLOY.parent
COMMON = ("common.yaml", "stateless.yaml")  #: What every worker without tables has.


def files(prefix: str = "") -> dict[str, str]:
    """Return the text of each generated file by its path in deploy/, for a crawl with a ``kafka.prefix``."""
    rules = _read("prometheus/rules.yaml")
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lab = (ROOT / "bench/lab/pyproject.toml").read_text(encoding="utf-8")
    return {
        "k8s/base/kafka/topics.yaml": _manifest("streams/topics.py", topics(prefix)),
        "k8s/base/kafka/users.yaml": _manifest("streams/topics.py", users(prefix)),
        "k8s/base/monitoring/rules.yaml": _manifest("deploy/prometheus/rules.yaml", [_alerts(rules)]),
        "k8s/base/scentline.toml": configuration(prefix),
        "grafana/crawl.json": _json(dashboard(_read("grafana/crawl.yaml"))),
        "grafana/operator.json": _json(dashboard(_read("grafana/operator.yaml"))),
        "requirements.lock": runtime_lock(lock, project),
        "build.lock": build_lock(lock, project),
        "render.lock": render_lock(lock, project),
        # A component has no files but those beside it.
        **{f"k8s/components/render/{name}": _copy(f"k8s/base/workers/{name}") for name in COMMON},
        "../bench/lab/requirements.lock": lab_lock(lock, lab, project),
    }


def _copy(source: str) -> str:
    head = f"# Written by `make manifests` from deploy/{source}; edit that, not this file.\n"
    return head + (DEPLOY / source).read_text(encoding="utf-8")


def _alerts(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rules file of plain Prometheus as the Prometheus Operator's object."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "scentline"},
        "spec": {"groups": rules["groups"]},
    }


def _read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


def _manifest(source: str, objects: Iterable[Mapping[str, Any]]) -> str:
    head = f"# Written by `make manifests` from {source}; edit that, not this file.\n"
    return head + yaml.safe_dump_all(objects, sort_keys=False, width=110)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"
