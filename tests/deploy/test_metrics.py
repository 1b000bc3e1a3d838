"""Alerts and dashboards ask for metrics that there are, and alerts fire on what they are for."""

import json
import re
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.manifests.files import DEPLOY
from deploy.manifests.panels import COLUMNS, dashboard
from scentline.streams.metrics.catalogue import CATALOGUE
from tests.cases import each_case
from tests.deploy.conftest import promtool

RULES = DEPLOY / "prometheus" / "rules.yaml"
DASHBOARDS = ("crawl", "operator")
#: What Prometheus, its client and the kubelet tell.
OTHERS = {
    "up", "process_resident_memory_bytes", "kubelet_volume_stats_available_bytes",
    "kubelet_volume_stats_capacity_bytes",
}  # fmt: skip
METRICS = {
    name: metric
    for metric in CATALOGUE
    for name in (
        [f"{metric.name}_{part}" for part in ("bucket", "count", "sum")]
        if metric.kind == "histogram"
        else [metric.name]
    )
}
#: What Prometheus itself puts on every series.
TARGET_LABELS = {"job", "instance", "namespace", "pod", "le"}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DEPLOY / "grafana" / f"{name}.json").read_text())["panels"]
    return found


def queries(name: str) -> list[str]:
    return [target["expr"] for panel in panels(name) for target in panel.get("targets", [])]


def everything_asked() -> list[str]:
    return [rule["expr"] for rule in rules()] + [query for name in DASHBOARDS for query in queries(name)]


def asked(query: str) -> set[str]:
    return set(re.findall(r"\b(?:scentline_\w+|kubelet_\w+|process_\w+|up)\b", query))


@each_case("query", everything_asked())
def test_a_query_asks_for_metrics_and_labels_that_there_are(query: str) -> None:
    names = asked(query)
    assert names
    assert names <= METRICS.keys() | OTHERS
    labels = {label for name in names if name in METRICS for label in METRICS[name].labels}
    grouped = {label.strip() for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(",")}
    matched = set(re.findall(r"[{,]\s*(\w+)\s*(?:=~|!~|!=|=)", query))
    assert (grouped | matched) - TARGET_LABELS <= labels


def test_every_metric_is_in_a_dashboard_or_an_alert() -> None:
    names = {name for query in everything_asked() for name in asked(query)}
    worked_out = {"scentline_harvest_rate", "scentline_harvest_lift"}  # of what is shown
    shown = {METRICS[name].name for name in names - OTHERS}
    assert {metric.name for metric in CATALOGUE} - shown == worked_out


@each_case("name", DASHBOARDS)
def test_a_dashboards_panels_lie_beside_each_other(name: str) -> None:
    places = [panel["gridPos"] for panel in panels(name)]
    assert all(place["x"] + place["w"] <= COLUMNS for place in places)
    sizes = [(place, product(range(place["w"]), range(place["h"]))) for place in places]
    cells = [(place["x"] + x, place["y"] + y) for place, size in sizes for x, y in size]
    assert len(cells) == len(set(cells))


def test_a_panel_with_a_misspelt_key_is_refused() -> None:
    form = {"uid": "u", "title": "t", "rows": [{"title": "r", "panels": [{"title": "p", "query": {}}]}]}
    with pytest.raises(ValueError, match="panel p: no such key: query"):
        dashboard(form)


def test_every_alert_is_tested_firing_and_silent_and_has_a_severity_a_summary_and_a_runbook() -> None:
    tested = yaml.safe_load((DEPLOY / "prometheus" / "rules_test.yaml").read_text(encoding="utf-8"))
    cases = [case for test in tested["tests"] for case in test["alert_rule_test"]]
    names = {rule["alert"] for rule in rules()}
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == names
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == names
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["summary"]
        page, _, heading = rule["annotations"]["runbook_url"].partition("#")
        assert (page.rpartition("/")[2], heading) == ("operations.html", rule["alert"].lower())


def check(*arguments: str | Path) -> None:
    checked = subprocess.run([promtool(), *arguments], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_promtool_takes_all_queries_and_sees_every_alert_fire_on_what_it_is_for(tmp_path: Path) -> None:
    check("check", "rules", RULES)
    check("check", "config", DEPLOY / "prometheus" / "prometheus.yml")
    check("test", "rules", DEPLOY / "prometheus" / "rules_test.yaml")
    asking = [query for name in DASHBOARDS for query in queries(name)]
    filled = [query.replace("$__rate_interval", "1m").replace("$namespace", ".*") for query in asking]
    recorded = [{"record": f"query{number}", "expr": query} for number, query in enumerate(filled)]
    groups = {"groups": [{"name": "dashboards", "rules": recorded}]}
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump(groups), encoding="utf-8")
    check("check", "rules", tmp_path / "queries.yaml")
