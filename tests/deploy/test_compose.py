"""The compose file: every role, with what it needs and no more; Prometheus and Grafana find their files."""

import re
from pathlib import Path
from typing import Any

import yaml

from deploy.manifests.configuration import DATA, METRICS_PORT
from deploy.manifests.files import DEPLOY, ROOT
from scentline.streams.configuration import PREFIX, keys
from scentline.streams.topics import INBOXES, TABLES
from tests.cases import each_case

COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ROLES = tuple(INBOXES)
STATEFUL = {role for role, inbox in INBOXES.items() if inbox in TABLES.values()}
#: Who brings an image: built here, named by its digest, or pinned by the operator in a variable.
PINNED = re.compile(r"\S+:[\w.-]+@sha256:[0-9a-f]{64}|\$\{([A-Z]+_IMAGE):-\S+:[\w.-]+\}")


def test_there_is_a_worker_of_every_role_and_what_it_needs() -> None:
    assert set(SERVICES) == {*ROLES, "kafka", "topics", "prometheus", "grafana"}
    assert SERVICES["topics"]["command"] == ["topics", "create"]
    assert SERVICES["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}
    assert COMPOSE["networks"]["inside"] == {"internal": True}


@each_case("role", ROLES)
def test_a_worker_plays_its_role_with_what_it_needs_and_no_more(role: str) -> None:
    service = SERVICES[role]
    assert service["command"] == ["worker", role]
    assert service["depends_on"] == {"topics": {"condition": "service_completed_successfully"}}
    assert service["read_only"] is True
    assert service.get("volumes", []) == ([f"{role}:{DATA}"] if role in STATEFUL else [])
    assert set(service["tmpfs"]) == ({"/tmp"} if role in STATEFUL else {"/tmp", DATA})
    assert role not in STATEFUL or role in COMPOSE["volumes"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "outside" in service["networks"] if role == "fetch" else service["networks"] == ["inside"]


def test_environments_hold_settings_and_observe_alone_the_key_of_the_pseudonyms_which_must_be_given() -> None:
    known = {PREFIX + key.upper().replace(".", "__") for key in keys()}
    given = {name: each["environment"] for name, each in SERVICES.items() if "environment" in each}
    assert all(set(given[role]) <= known for role in (*ROLES, "topics"))
    key = f"{PREFIX}OBSERVE__USER_KEY"
    assert {name for name, environment in given.items() if key in environment} == {"observe"}
    assert given["observe"][key].startswith("${" + key + ":?")


def test_images_have_a_version_and_those_of_others_a_digest_or_a_variable_of_the_page() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for name, service in SERVICES.items():
        assert ":" in service["image"], name
        assert not service["image"].endswith(":latest")
        if "build" not in service:
            pinned = PINNED.fullmatch(service["image"])
            assert pinned, name
            assert pinned[1] is None or f"export {pinned[1]}=" in page


def test_what_is_mounted_is_there_and_what_is_published_is_on_this_machine_only() -> None:
    volumes = [volume for service in SERVICES.values() for volume in service.get("volumes", [])]
    mounted = [volume.split(":")[0] for volume in volumes if volume.startswith("./")]
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert (bool(mounted), bool(published)) == (True, True)
    assert [path for path in mounted if not (DEPLOY / path).exists()] == []
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_prometheus_scrapes_every_role_and_grafana_has_its_dashboards() -> None:
    (job,) = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    assert (set(found["names"]), found["port"]) == (set(ROLES), METRICS_PORT)
    provisioning = DEPLOY / "grafana" / "provisioning" / "dashboards" / "scentline.yaml"
    (provider,) = yaml.safe_load(provisioning.read_text())["providers"]
    folder = Path(provider["options"]["path"])
    mounted = {Path(volume.split(":")[1]) for volume in SERVICES["grafana"]["volumes"]}
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert {folder / "crawl.json", folder / "operator.json", Path(home)} <= mounted
