"""Alerts as a ``PrometheusRule``: those of deploy/prometheus/rules.yaml, which a plain Prometheus reads."""

from collections.abc import Mapping
from typing import Any


def prometheus_rule(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Prometheus Operator's object for a file of rules."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "scentline"},
        "spec": {"groups": rules["groups"]},
    }
