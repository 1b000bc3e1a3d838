"""The page on operations says what is there; alerts and dashboards ask for metrics that there are, and fire."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from deploy.manifests.configuration import GIVEN
from deploy.manifests.files import DEPLOY, ROOT
from deploy.manifests.panels import COLUMNS, dashboard
from scentline.streams.metrics.catalogue import CATALOGUE
from scentline.streams.settings import Settings, keys
from tests.cases import each_case
from tests.deploy.conftest import Rendered, container, promtool
from tests.test_pages import parsed

TEXT = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
#: What a control plane without containers and operators can carry out, and does not take minutes for.
CARRIED_OUT = {"create", "apply", "diff", "scale", "get", "delete", "rollout restart", "rollout undo"}
RULES = yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text(encoding="utf-8"))
MEGABYTE = 1_000_000


def commands(text: str = TEXT) -> Iterator[str]:
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from (line for line in block.splitlines() if line)


def section(title: str) -> str:
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


def test_every_alert_has_its_heading_in_the_order_of_the_file() -> None:
    alerts = [rule["alert"] for group in RULES["groups"] for rule in group["rules"]]
    assert sorted(re.findall(r"^### (\w+)$", section("Alerts"), re.MULTILINE)) == sorted(alerts)


def test_every_setting_and_metric_that_is_named_is_there() -> None:
    sections = {key.partition(".")[0] for key in keys() if "." in key}
    settings = {name for name in re.findall(r"`([a-z]+\.[a-z_]+)`", TEXT) if name.partition(".")[0] in sections}
    metrics = set(re.findall(r"`(scentline_\w+)`", TEXT))
    assert (bool(settings), bool(metrics)) == (True, True)
    assert settings <= set(keys())
    assert metrics <= {metric.name for metric in CATALOGUE}


def scentline(command: str) -> list[str] | None:
    """Return the words of a command line that are scentline's own, if it has any."""
    words = shlex.split(command)
    if "scentline" in words:
        return words[words.index("scentline") + 1 :]
    if words[:2] == ["docker", "compose"] and "topics" in words:
        return words[words.index("topics") + 1 :]
    return None


#: The commands of scentline, in blocks and in sentences.
COMMANDS = [*commands(), *(each for each in re.findall(r"`(scentline [a-z][^`]*)`", TEXT) if "..." not in each)]


@each_case("command", [line for line in COMMANDS if scentline(line)])
def test_a_command_of_scentline_is_one_with_the_options_that_are_given(command: str) -> None:
    words = scentline(command)
    assert words
    with pytest.raises(typer.Exit):  # by the help, since a sentence names commands without their arguments
        parsed(shlex.join(["scentline", *words, "--help"]))


@each_case("command", [line for line in commands() if line.startswith("kubectl ")])
def test_a_command_of_kubectl_is_about_what_there_is(command: str, prod: Rendered) -> None:
    words = shlex.split(command)
    names = {(each["kind"].lower(), each["metadata"]["name"]) for each in prod.objects}
    asked = {tuple(word.split("/")) for word in words if re.fullmatch(r"[a-z]+/scentline[\w-]*", word)}
    assert asked <= names
    if "--kustomize" in words:
        assert (ROOT / words[words.index("--kustomize") + 1]).is_dir()
    (namespace,) = prod.kind("Namespace")
    for word in words:
        if word.startswith("--namespace="):
            assert word == f"--namespace={namespace['metadata']['name']}"


def test_the_secrets_that_are_made_are_those_that_are_read(prod: Rendered) -> None:
    made = {line for line in commands() if "create secret" in line}
    workers = prod.kind("StatefulSet", "Deployment")
    variables = [each for worker in workers for each in container(worker).get("env", [])]
    read = [each["valueFrom"]["secretKeyRef"] for each in variables if "valueFrom" in each]
    assert len(made) == len({each["name"] for each in read})
    for each in read:
        given = f"create secret generic {each['name']} ", f"--from-literal={each['key']}="
        assert any(all(word in line for word in given) for line in made)


def test_a_worker_of_frontier_that_holds_everything_fits_its_limit(prod: Rendered) -> None:
    assert "150 MB + predicates x 30 MB + 4 x streams.cached_bytes + partitions x 16 MB" in TEXT
    rows = 4 * Settings().streams.cached_bytes
    needed = (150 + 10 * 30 + GIVEN["streams.partitions"] * 16) * MEGABYTE + rows  # with ten predicates
    assert f"with twelve and ten predicates, {needed / 1e9:.1f} GB" in " ".join(TEXT.split())
    assert f"{GIVEN['streams.partitions']}, as in `prod`" in " ".join(TEXT.split())
    assert container(prod.workers()["frontier"])["resources"]["limits"]["memory"] == "4Gi"
    assert needed < 0.6 * 4 * 1024**3


ALERTS = DEPLOY / "prometheus" / "rules.yaml"
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
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
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
    check("check", "rules", ALERTS)
    check("check", "config", DEPLOY / "prometheus" / "prometheus.yml")
    check("test", "rules", DEPLOY / "prometheus" / "rules_test.yaml")
    asking = [query for name in DASHBOARDS for query in queries(name)]
    filled = [query.replace("$__rate_interval", "1m").replace("$namespace", ".*") for query in asking]
    recorded = [{"record": f"query{number}", "expr": query} for number, query in enumerate(filled)]
    groups = {"groups": [{"name": "dashboards", "rules": recorded}]}
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump(groups), encoding="utf-8")
    check("check", "rules", tmp_path / "queries.yaml")
