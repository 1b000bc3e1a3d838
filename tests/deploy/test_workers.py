"""Every role has its worker, and every worker what it needs to run safely, be watched and end in good order."""

import re
from typing import Any

from deploy.manifests.configuration import CREDENTIALS, DATA, METRICS_PORT
from deploy.manifests.files import DEPLOY
from scentline.streams.configuration import PREFIX, keys, load
from scentline.streams.topics import INBOXES, TABLES
from tests.cases import each_case
from tests.deploy.conftest import Rendered

ROLES = tuple(INBOXES)
STATEFUL = {role for role, inbox in INBOXES.items() if inbox in TABLES.values()}


def pod(worker: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = worker["spec"]["template"]["spec"]
    return spec


def container(worker: dict[str, Any]) -> dict[str, Any]:
    found: list[dict[str, Any]] = pod(worker)["containers"]
    assert len(found) == 1
    return found[0]


def test_every_role_has_a_worker_that_keeps_a_disk_if_the_role_keeps_tables(overlay: Rendered) -> None:
    workers = overlay.workers()
    assert set(workers) == set(ROLES)
    assert {role for role, each in workers.items() if each["kind"] == "StatefulSet"} == STATEFUL
    for role, each in workers.items():
        data = [mount for mount in container(each)["volumeMounts"] if mount["name"] == "data"]
        assert data == [{"name": "data", "mountPath": DATA}]
        claims = [claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", [])]
        assert claims == (["data"] if role in STATEFUL else [])


@each_case("role", ROLES)
def test_a_worker_plays_its_role_with_the_configuration_and_credentials_of_it(
    overlay: Rendered, role: str
) -> None:
    worker = overlay.workers()[role]
    name = f"scentline-{role}"
    assert worker["metadata"]["name"] == name
    assert container(worker)["args"] == ["worker", role, "--config", "/etc/scentline/scentline.toml"]
    volumes = {volume["name"]: volume for volume in pod(worker)["volumes"]}
    secrets = [source["secret"]["name"] for source in volumes["kafka"]["projected"]["sources"]]
    assert secrets == ["scentline-cluster-ca-cert", name]
    paths = {
        item["path"]
        for source in volumes["kafka"]["projected"]["sources"]
        for item in source["secret"]["items"]
    }
    settings = load(config_file=DEPLOY / "k8s" / "base" / "scentline.toml", environ={}).settings
    files = (settings.kafka.ca_file, settings.kafka.cert_file, settings.kafka.key_file)
    assert {f"{CREDENTIALS}/{path}" for path in paths} == {str(file) for file in files}
    assert pod(worker)["serviceAccountName"] == name
    assert overlay.one("ServiceAccount", name)["automountServiceAccountToken"] is False
    assert overlay.one("KafkaUser", name)["spec"]["authentication"] == {"type": "tls"}


@each_case("role", [*ROLES, "operator", "window"])
def test_nothing_that_runs_has_rights_that_it_does_not_need(overlay: Rendered, role: str) -> None:
    found = overlay.kind("StatefulSet", "Deployment")
    (worker,) = [each for each in found if each["metadata"]["name"] == f"scentline-{role}"]
    assert pod(worker)["automountServiceAccountToken"] is False
    assert pod(worker)["securityContext"]["runAsNonRoot"] is True
    assert pod(worker)["securityContext"]["runAsUser"] > 0
    assert pod(worker)["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container(worker)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    forbidden = {"hostNetwork", "hostPID", "hostIPC"}
    assert not forbidden & pod(worker).keys()
    assert not any("hostPath" in volume for volume in pod(worker)["volumes"])


@each_case("role", ROLES)
def test_a_worker_is_asked_whether_it_is_live_and_ready(overlay: Rendered, role: str) -> None:
    found = container(overlay.workers()[role])
    assert found["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "metrics"}
    assert found["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "metrics"}
    assert found["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}
    assert found["ports"] == [{"name": "metrics", "containerPort": METRICS_PORT}]
    # A recovery that keeps the loop busy must not look like a death.
    assert found["startupProbe"]["periodSeconds"] * found["startupProbe"]["failureThreshold"] >= 600


@each_case("role", ROLES)
def test_a_worker_is_given_the_time_to_end_what_it_began(overlay: Rendered, role: str) -> None:
    settings = load(config_file=DEPLOY / "k8s" / "base" / "scentline.toml", environ={}).settings
    grace = pod(overlay.workers()[role])["terminationGracePeriodSeconds"]
    leaving = settings.kafka.session_seconds
    assert grace > settings.fetch.timeout_seconds + leaving
    assert grace > settings.streams.group_seconds + leaving


@each_case("role", ROLES)
def test_workers_of_a_role_stand_apart_and_go_one_at_a_time(overlay: Rendered, role: str) -> None:
    worker = overlay.workers()[role]
    labels = worker["spec"]["template"]["metadata"]["labels"]
    assert labels == worker["spec"]["selector"]["matchLabels"]
    budget = overlay.one("PodDisruptionBudget", f"scentline-{role}")["spec"]
    assert budget == {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
    (spread,) = pod(worker)["topologySpreadConstraints"]
    assert spread["topologyKey"] == "topology.kubernetes.io/zone"
    (term,) = pod(worker)["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    for chosen in (spread, term["podAffinityTerm"]):
        assert chosen["labelSelector"]["matchLabels"].items() <= labels.items()
        assert chosen["matchLabelKeys"] == ["app.kubernetes.io/component"]


@each_case("role", ROLES)
def test_a_worker_has_requests_and_a_bound_of_memory(overlay: Rendered, role: str) -> None:
    resources = container(overlay.workers()[role])["resources"]
    assert set(resources["requests"]) == {"cpu", "memory"}
    assert set(resources["limits"]) == {"memory"}


def test_the_environment_of_a_worker_holds_settings_only(overlay: Rendered) -> None:
    known = {PREFIX + key.upper().replace(".", "__") for key in keys()}
    assert set(overlay.configured("scentline-environment")) <= known
    for each in overlay.workers().values():
        # Variables that Kubernetes makes for the service `scentline` would be taken for settings.
        assert pod(each)["enableServiceLinks"] is False
        assert {variable["name"] for variable in container(each).get("env", [])} <= known


def test_a_role_can_be_upgraded_alone_with_the_settings_of_its_release(overlay: Rendered) -> None:
    label = "app.kubernetes.io/component"
    settings = [
        each for each in overlay.kind("ConfigMap") if each["metadata"]["labels"].get(label) == "settings"
    ]
    mounted = {source for each in overlay.workers().values() for source in maps(each)}
    assert {each["metadata"]["name"] for each in settings} == mounted
    assert {role: each["metadata"]["labels"][label] for role, each in overlay.workers().items()} == {
        role: role for role in ROLES
    }


def maps(worker: dict[str, Any]) -> list[str]:
    """Return the names of the ConfigMaps that a worker needs."""
    mounted = [volume["configMap"]["name"] for volume in pod(worker)["volumes"] if "configMap" in volume]
    return mounted + [source["configMapRef"]["name"] for source in container(worker)["envFrom"]]


def test_the_key_of_the_pseudonyms_is_a_secret_that_observe_alone_has(overlay: Rendered) -> None:
    reference = {"secretKeyRef": {"name": "scentline-pseudonyms", "key": "user-key"}}
    for role, each in overlay.workers().items():
        expected = (
            [{"name": "SCENTLINE_OBSERVE__USER_KEY", "valueFrom": reference}] if role == "observe" else []
        )
        assert container(each).get("env", []) == expected
    assert overlay.kind("Secret") == []


def test_workers_that_keep_nothing_are_scaled_by_the_lag_of_their_inbox(overlay: Rendered) -> None:
    scaled = {each["spec"]["scaleTargetRef"]["name"]: each["spec"] for each in overlay.kind("ScaledObject")}
    assert set(scaled) == {f"scentline-{role}" for role in ROLES if role not in STATEFUL}
    settings = load(config_file=DEPLOY / "k8s" / "base" / "scentline.toml", environ={}).settings
    namespace = overlay.kind("Namespace")[0]["metadata"]["name"]
    bootstrap = settings.broker.removeprefix("kafka://").replace(":", f".{namespace}.svc:")
    for name, spec in scaled.items():
        (trigger,) = spec["triggers"]
        role = name.removeprefix("scentline-")
        assert trigger["metadata"]["topic"] == INBOXES[role].name
        assert trigger["metadata"]["consumerGroup"] == name
        assert trigger["metadata"]["bootstrapServers"] == bootstrap
        assert "replicas" not in overlay.workers()[role]["spec"], "KEDA's number would be set back"
    fetch = scaled["scentline-fetch"]["triggers"][0]["metadata"]
    assert fetch["lagThreshold"] == str(settings.fetch.connections)


def test_prometheus_finds_every_worker(overlay: Rendered) -> None:
    monitor = overlay.one("PodMonitor", "scentline")["spec"]
    for each in overlay.workers().values():
        labels = each["spec"]["template"]["metadata"]["labels"]
        assert monitor["selector"]["matchLabels"].items() <= labels.items()
    assert [endpoint["port"] for endpoint in monitor["podMetricsEndpoints"]] == ["metrics"]


def test_everything_lies_in_one_namespace_under_the_restricted_standard(overlay: Rendered) -> None:
    (namespace,) = overlay.kind("Namespace")
    levels = {
        key: value
        for key, value in namespace["metadata"]["labels"].items()
        if key.startswith("pod-security.kubernetes.io/")
    }
    assert set(levels.values()) == {"restricted"}
    assert "pod-security.kubernetes.io/enforce" in levels
    others = {each["metadata"]["namespace"] for each in overlay.objects if each["kind"] != "Namespace"}
    assert others == {namespace["metadata"]["name"]}


def test_in_production_the_image_is_named_by_its_digest_alone(prod: Rendered) -> None:
    images = {container(each)["image"] for each in prod.workers().values()}
    (image,) = images
    assert re.fullmatch(r"[\w./-]+@sha256:[0-9a-f]{64}", image)
