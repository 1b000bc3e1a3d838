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
SETTINGS = load(config_file=DEPLOY / "k8s" / "base" / "scentline.toml", environ={}).settings


def pod(worker: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = worker["spec"]["template"]["spec"]
    return spec


def container(worker: dict[str, Any]) -> dict[str, Any]:
    (found,) = pod(worker)["containers"]
    assert isinstance(found, dict)
    return found


def test_every_role_has_a_worker_that_keeps_a_disk_if_the_role_keeps_tables(overlay: Rendered) -> None:
    workers = overlay.workers()
    assert set(workers) == set(ROLES)
    for role, each in workers.items():
        assert (each["kind"] == "StatefulSet") == (role in STATEFUL)
        data = [mount for mount in container(each)["volumeMounts"] if mount["name"] == "data"]
        assert data == [{"name": "data", "mountPath": DATA}]
        claims = [claim["metadata"]["name"] for claim in each["spec"].get("volumeClaimTemplates", [])]
        assert claims == (["data"] if role in STATEFUL else [])


@each_case("role", ROLES)
def test_a_worker_plays_its_role_with_the_configuration_and_credentials_of_it(
    overlay: Rendered, role: str
) -> None:
    worker, name = overlay.workers()[role], f"scentline-{role}"
    assert worker["metadata"]["name"] == name
    assert container(worker)["args"] == ["worker", role, "--config", "/etc/scentline/scentline.toml"]
    volumes = {volume["name"]: volume for volume in pod(worker)["volumes"]}
    secrets = [source["secret"] for source in volumes["kafka"]["projected"]["sources"]]
    assert [secret["name"] for secret in secrets] == ["scentline-cluster-ca-cert", name]
    paths = {f"{CREDENTIALS}/{item['path']}" for secret in secrets for item in secret["items"]}
    kafka = SETTINGS.kafka
    assert paths == {str(file) for file in (kafka.ca_file, kafka.cert_file, kafka.key_file)}
    assert pod(worker)["serviceAccountName"] == name
    assert overlay.one("ServiceAccount", name)["automountServiceAccountToken"] is False
    assert overlay.one("KafkaUser", name)["spec"]["authentication"] == {"type": "tls"}


@each_case("role", [*ROLES, "operator", "window"])
def test_nothing_that_runs_has_rights_that_it_does_not_need(overlay: Rendered, role: str) -> None:
    found = overlay.kind("StatefulSet", "Deployment")
    (worker,) = [each for each in found if each["metadata"]["name"] == f"scentline-{role}"]
    assert pod(worker)["automountServiceAccountToken"] is False
    security = pod(worker)["securityContext"]
    assert (security["runAsNonRoot"], security["runAsUser"] > 0) == (True, True)
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container(worker)["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod(worker).keys()
    assert not any("hostPath" in volume for volume in pod(worker)["volumes"])


@each_case("role", ROLES)
def test_a_worker_is_probed_bounded_and_given_the_time_to_end_what_it_began(
    overlay: Rendered, role: str
) -> None:
    worker = overlay.workers()[role]
    found = container(worker)
    for probe, path in (("liveness", "/healthz"), ("startup", "/healthz"), ("readiness", "/readyz")):
        assert found[f"{probe}Probe"]["httpGet"] == {"path": path, "port": "metrics"}
    assert found["ports"] == [{"name": "metrics", "containerPort": METRICS_PORT}]
    # A recovery that keeps the loop busy must not look like a death.
    assert found["startupProbe"]["periodSeconds"] * found["startupProbe"]["failureThreshold"] >= 600
    assert set(found["resources"]["requests"]) == {"cpu", "memory"}
    assert set(found["resources"]["limits"]) == {"memory"}
    longest = max(SETTINGS.fetch.timeout_seconds, SETTINGS.streams.group_seconds)
    assert pod(worker)["terminationGracePeriodSeconds"] > longest + SETTINGS.kafka.session_seconds


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


def test_environments_hold_settings_and_observe_alone_the_key_of_the_pseudonyms(overlay: Rendered) -> None:
    known = {PREFIX + key.upper().replace(".", "__") for key in keys()}
    assert set(overlay.configured("scentline-environment")) <= known
    reference = {"secretKeyRef": {"name": "scentline-pseudonyms", "key": "user-key"}}
    key = [{"name": "SCENTLINE_OBSERVE__USER_KEY", "valueFrom": reference}]
    for role, each in overlay.workers().items():
        # Variables that Kubernetes makes for the service `scentline` would be taken for settings.
        assert pod(each)["enableServiceLinks"] is False
        assert container(each).get("env", []) == (key if role == "observe" else [])
    assert overlay.kind("Secret") == []


def test_a_role_can_be_upgraded_alone_with_the_settings_of_its_release(overlay: Rendered) -> None:
    label, workers = "app.kubernetes.io/component", overlay.workers()
    maps = overlay.kind("ConfigMap")
    settings = {
        each["metadata"]["name"] for each in maps if each["metadata"]["labels"].get(label) == "settings"
    }
    mounted = {
        volume["configMap"]["name"]
        for each in workers.values()
        for volume in pod(each)["volumes"]
        if "configMap" in volume
    }
    used = {
        source["configMapRef"]["name"] for each in workers.values() for source in container(each)["envFrom"]
    }
    assert settings == mounted | used
    assert [each["metadata"]["labels"][label] for each in workers.values()] == list(workers)


def test_workers_that_keep_nothing_are_scaled_by_the_lag_of_their_inbox(overlay: Rendered) -> None:
    scaled = {each["spec"]["scaleTargetRef"]["name"]: each["spec"] for each in overlay.kind("ScaledObject")}
    assert set(scaled) == {f"scentline-{role}" for role in ROLES if role not in STATEFUL}
    namespace = overlay.kind("Namespace")[0]["metadata"]["name"]
    bootstrap = SETTINGS.broker.removeprefix("kafka://").replace(":", f".{namespace}.svc:")
    for name, spec in scaled.items():
        (trigger,) = spec["triggers"]
        role, given = name.removeprefix("scentline-"), trigger["metadata"]
        assert (given["topic"], given["consumerGroup"]) == (INBOXES[role].name, name)
        assert given["bootstrapServers"] == bootstrap
        assert "replicas" not in overlay.workers()[role]["spec"], "KEDA's number would be set back"
    fetch = scaled["scentline-fetch"]["triggers"][0]["metadata"]
    assert fetch["lagThreshold"] == str(SETTINGS.fetch.connections)


def test_prometheus_finds_every_worker(overlay: Rendered) -> None:
    monitor = overlay.one("PodMonitor", "scentline")["spec"]
    for each in overlay.workers().values():
        labels = each["spec"]["template"]["metadata"]["labels"]
        assert monitor["selector"]["matchLabels"].items() <= labels.items()
    assert [endpoint["port"] for endpoint in monitor["podMetricsEndpoints"]] == ["metrics"]


def test_everything_lies_in_one_namespace_under_the_restricted_standard(overlay: Rendered) -> None:
    (namespace,) = overlay.kind("Namespace")
    labels, standard = namespace["metadata"]["labels"], "pod-security.kubernetes.io/"
    assert {level for key, level in labels.items() if key.startswith(standard)} == {"restricted"}
    assert f"{standard}enforce" in labels
    others = {each["metadata"]["namespace"] for each in overlay.objects if each["kind"] != "Namespace"}
    assert others == {namespace["metadata"]["name"]}


def test_in_production_the_image_is_named_by_its_digest_alone(prod: Rendered) -> None:
    (image,) = {container(each)["image"] for each in prod.workers().values()}
    assert re.fullmatch(r"[\w./-]+@sha256:[0-9a-f]{64}", image)
