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


def test_there_is_a_worker_of_every_role_and_what_it_needs() -> None:
    assert set(SERVICES) == {*ROLES, "kafka", "topics", "prometheus", "grafana"}
    assert SERVICES["topics"]["command"] == ["topics", "create"]
    assert SERVICES["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}


@each_case("role", ROLES)
def test_a_worker_plays_its_role_when_the_topics_are_made(role: str) -> None:
    service = SERVICES[role]
    assert service["command"] == ["worker", role]
    assert service["depends_on"] == {"topics": {"condition": "service_completed_successfully"}}


@each_case("role", ROLES)
def test_a_worker_that_keeps_tables_has_a_volume_and_the_others_write_to_memory(role: str) -> None:
    service = SERVICES[role]
    assert service["read_only"] is True
    assert service.get("volumes", []) == ([f"{role}:{DATA}"] if role in STATEFUL else [])
    assert set(service["tmpfs"]) == ({"/tmp"} if role in STATEFUL else {"/tmp", DATA})
    assert role not in STATEFUL or role in COMPOSE["volumes"]


@each_case("role", ROLES)
def test_a_worker_has_no_rights_that_it_does_not_need(role: str) -> None:
    service = SERVICES[role]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "outside" in service["networks"] if role == "fetch" else service["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}


@each_case("role", [*ROLES, "topics"])
def test_the_environment_of_a_worker_holds_settings_only(role: str) -> None:
    known = {PREFIX + key.upper().replace(".", "__") for key in keys()}
    assert set(SERVICES[role]["environment"]) <= known


def test_the_key_of_the_pseudonyms_must_be_given_and_observe_alone_has_it() -> None:
    key = f"{PREFIX}OBSERVE__USER_KEY"
    given = {name: each["environment"] for name, each in SERVICES.items() if "environment" in each}
    assert {name for name, environment in given.items() if key in environment} == {"observe"}
    assert given["observe"][key].startswith("${" + key + ":?")


#: Who brings an image: built here, named by its digest, or pinned by the operator in a variable.
PINNED = re.compile(r"\S+:[\w.-]+@sha256:[0-9a-f]{64}|\$\{([A-Z]+_IMAGE):-\S+:[\w.-]+\}")


def test_images_are_named_with_their_version() -> None:
    for name, service in SERVICES.items():
        assert ":" in service["image"], name
        assert not service["image"].endswith(":latest")


def test_images_of_others_are_named_by_digest_or_can_be_and_the_page_says_how() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for name, service in SERVICES.items():
        if "build" not in service:
            pinned = PINNED.fullmatch(service["image"])
            assert pinned, name
            assert pinned[1] is None or f"export {pinned[1]}=" in page


def test_every_file_that_is_mounted_is_there() -> None:
    mounted = [
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
        if volume.startswith("./")
    ]
    assert mounted
    assert [path for path in mounted if not (DEPLOY / path).exists()] == []


def test_pages_for_people_are_published_on_this_machine_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_prometheus_asks_every_role() -> None:
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))
    (job,) = scraped["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    assert set(found["names"]) == set(ROLES)
    assert found["port"] == METRICS_PORT


def test_grafana_is_given_its_dashboards() -> None:
    provisioning = DEPLOY / "grafana" / "provisioning"
    (provider,) = yaml.safe_load((provisioning / "dashboards" / "scentline.yaml").read_text())["providers"]
    folder = provider["options"]["path"]
    mounted = {Path(volume.split(":")[1]) for volume in SERVICES["grafana"]["volumes"]}
    assert {Path(folder) / "crawl.json", Path(folder) / "operator.json"} <= mounted
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert Path(home) in mounted
