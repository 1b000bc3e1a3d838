"""What the overlays come to: every role has its worker, alone with the network it needs, by generated files."""

import json
import re
import shutil
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from deploy.manifests.configuration import CREDENTIALS, DATA, GIVEN, METRICS_PORT
from deploy.manifests.files import DEPLOY, files
from deploy.manifests.topics import PARTITIONS
from scentline.agents.fetch.guard import Address, Network, is_global
from scentline.models.settings import LONGEST_LEASE, FetchSettings
from scentline.streams.settings import PREFIX, keys, load
from scentline.streams.topics import INBOXES, TABLES, declared
from tests.agents.test_guard import ADDRESSES
from tests.cases import each_case
from tests.deploy.conftest import Rendered, container, labels, pod, render, rendered, with_component

# workers

ROLES = tuple(role for role in INBOXES if role != "render")  # which a crawl has only if it renders
STATEFUL = {role for role, inbox in INBOXES.items() if inbox in TABLES.values()}
SETTINGS = load(config_file=DEPLOY / "k8s" / "base" / "scentline.toml", environ={}).settings


@each_case("role", ROLES)
def test_a_role_has_a_worker_with_what_it_needs_and_a_disk_for_tables(overlay: Rendered, role: str) -> None:
    assert set(overlay.workers()) == set(ROLES)
    worker, name = overlay.workers()[role], f"scentline-{role}"
    assert (worker["metadata"]["name"], pod(worker)["serviceAccountName"]) == (name, name)
    assert container(worker)["args"] == ["worker", role, "--config", "/etc/scentline/scentline.toml"]
    assert (worker["kind"] == "StatefulSet") == (role in STATEFUL)
    data = [mount for mount in container(worker)["volumeMounts"] if mount["name"] == "data"]
    assert data == [{"name": "data", "mountPath": DATA}]
    claims = [claim["metadata"]["name"] for claim in worker["spec"].get("volumeClaimTemplates", [])]
    assert claims == (["data"] if role in STATEFUL else [])
    volumes = {volume["name"]: volume for volume in pod(worker)["volumes"]}
    secrets = [source["secret"] for source in volumes["kafka"]["projected"]["sources"]]
    assert [secret["name"] for secret in secrets] == ["scentline-cluster-ca-cert", name]
    paths = {f"{CREDENTIALS}/{item['path']}" for secret in secrets for item in secret["items"]}
    kafka = SETTINGS.kafka
    assert paths == {str(file) for file in (kafka.ca_file, kafka.cert_file, kafka.key_file)}
    assert overlay.one("ServiceAccount", name)["automountServiceAccountToken"] is False
    assert overlay.one("KafkaUser", name)["spec"]["authentication"] == {"type": "tls"}


@each_case("role", ROLES)
def test_a_worker_is_probed_scraped_bounded_and_given_time_to_end(overlay: Rendered, role: str) -> None:
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
    monitor = overlay.one("PodMonitor", "scentline")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= labels(worker).items()
    assert [endpoint["port"] for endpoint in monitor["podMetricsEndpoints"]] == ["metrics"]


@each_case("role", ROLES)
def test_workers_of_a_role_stand_apart_and_go_one_at_a_time(overlay: Rendered, role: str) -> None:
    worker = overlay.workers()[role]
    assert labels(worker) == worker["spec"]["selector"]["matchLabels"]
    budget = overlay.one("PodDisruptionBudget", f"scentline-{role}")["spec"]
    assert budget == {"maxUnavailable": 1, "selector": {"matchLabels": labels(worker)}}
    (spread,) = pod(worker)["topologySpreadConstraints"]
    assert spread["topologyKey"] == "topology.kubernetes.io/zone"
    (term,) = pod(worker)["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    for chosen in (spread, term["podAffinityTerm"]):
        assert chosen["labelSelector"]["matchLabels"].items() <= labels(worker).items()
        assert chosen["matchLabelKeys"] == ["app.kubernetes.io/component"]


def test_environments_hold_settings_and_one_role_alone_has_each_secret(overlay: Rendered) -> None:
    assert set(overlay.environment()) <= {PREFIX + key.upper().replace(".", "__") for key in keys()}
    reference = {"secretKeyRef": {"name": "scentline-pseudonyms", "key": "user-key"}}
    token = {"secretKeyRef": {"name": "scentline-window-token", "key": "token"}}
    secrets = {
        "observe": [{"name": "SCENTLINE_OBSERVE__USER_KEY", "valueFrom": reference}],
        "frontier": [{"name": "SCENTLINE_WINDOW__TOKEN", "valueFrom": token}],
    }
    for role, each in overlay.workers().items():
        # Variables that Kubernetes makes for the service `scentline` would be taken for settings.
        assert pod(each)["enableServiceLinks"] is False
        assert container(each).get("env", []) == secrets.get(role, [])
    assert overlay.kind("Secret") == []


def test_a_role_can_be_upgraded_alone_with_the_settings_of_its_release(overlay: Rendered) -> None:
    workers = overlay.workers()

    def component(each: dict[str, Any]) -> str | None:
        found: str | None = each["metadata"]["labels"].get("app.kubernetes.io/component")
        return found

    settings = {each["metadata"]["name"] for each in overlay.kind("ConfigMap") if component(each) == "settings"}
    volumes = [volume for each in workers.values() for volume in pod(each)["volumes"] if "configMap" in volume]
    sources = [source for each in workers.values() for source in container(each)["envFrom"]]
    assert settings == {each["configMap"]["name"] for each in volumes} | {
        each["configMapRef"]["name"] for each in sources
    }
    assert [component(each) for each in workers.values()] == list(workers)


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


def test_everything_lies_in_one_namespace_under_the_restricted_standard(overlay: Rendered) -> None:
    (namespace,) = overlay.kind("Namespace")
    standard = "pod-security.kubernetes.io/"
    levels = {key: level for key, level in namespace["metadata"]["labels"].items() if key.startswith(standard)}
    assert set(levels.values()) == {"restricted"} and f"{standard}enforce" in levels
    for worker in overlay.kind("StatefulSet", "Deployment"):  # what that standard leaves open
        assert pod(worker)["automountServiceAccountToken"] is False
        assert container(worker)["securityContext"]["readOnlyRootFilesystem"] is True
    others = {each["metadata"]["namespace"] for each in overlay.objects if each["kind"] != "Namespace"}
    assert others == {namespace["metadata"]["name"]}


def test_in_production_the_image_is_named_by_its_digest_alone(prod: Rendered) -> None:
    (image,) = {container(each)["image"] for each in prod.workers().values()}
    assert re.fullmatch(r"[\w./-]+@sha256:[0-9a-f]{64}", image)


# networks: fetch alone reaches the internet, and nothing else than the internet; the rest is denied

WORKER = {"app.kubernetes.io/name": "scentline"}
KAFKA = {"strimzi.io/cluster": "scentline"}
#: Where a cluster's own API server may be (RFC 1918, 6598, 4193).
PRIVATE = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"}


def policies(overlay: Rendered) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each["spec"] for each in overlay.kind("NetworkPolicy")}


def blocks(policy: dict[str, Any]) -> Iterator[tuple[Network, list[Network]]]:
    """Yield each block of addresses that a policy lets out to, with its exceptions."""
    for rule in policy.get("egress", []):
        for peer in rule["to"]:
            if "ipBlock" in peer:
                block = peer["ipBlock"]
                yield ip_network(block["cidr"]), [ip_network(each) for each in block.get("except", [])]


def lets_out(policy: dict[str, Any], address: Address) -> bool:
    return any(
        address in block and not any(address in exception for exception in exceptions)
        for block, exceptions in blocks(policy)
    )


def fetches() -> dict[str, Any]:
    return policies(render("prod"))["fetch-internet"]


def test_what_no_policy_allows_is_denied_and_every_rule_names_whom_it_lets_in_or_out(overlay: Rendered) -> None:
    assert policies(overlay)["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    kafkas_own = [{"podSelector": {"matchLabels": KAFKA}}]
    for policy in policies(overlay).values():
        rules = policy.get("egress", [])
        assert all(rule.get("to") and (rule.get("ports") or rule["to"] == kafkas_own) for rule in rules)
        assert all(rule.get("from") and rule.get("ports") for rule in policy.get("ingress", []))


def test_fetch_alone_has_the_internet_on_the_ports_that_its_settings_name(overlay: Rendered) -> None:
    found = policies(overlay)
    selected = found["fetch-internet"]["podSelector"]["matchLabels"]
    for role, each in overlay.workers().items():
        assert (selected.items() <= labels(each).items()) == (role == "fetch")
    others = [policy for name, policy in found.items() if name != "fetch-internet"]
    assert {str(block) for policy in others for block, _ in blocks(policy)} <= PRIVATE
    (rule,) = found["fetch-internet"]["egress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": port} for port in GIVEN["fetch.ports"]]
    assert GIVEN["fetch.ports"] == [80, 443]


def test_with_doors_nothing_reaches_the_internet_and_labelled_clients_reach_them(tmp_path: Path) -> None:
    overlay = rendered(with_component(tmp_path, "prod", "door"))
    door = overlay.workers()["fetch"]
    assert container(door)["args"][:2] == ["worker", "door"]
    assert "fetch-internet" not in policies(overlay)
    (admitted,) = policies(overlay)["clients-to-doors"]["ingress"]
    assert admitted["ports"] == [{"protocol": "TCP", "port": 7070}]
    assert admitted["from"][0]["podSelector"] == {"matchLabels": {"scentline/door-client": "true"}}
    service = overlay.one("Service", "scentline-door")["spec"]
    assert service["selector"].items() <= labels(door).items()
    given = {PREFIX + key.upper().replace(".", "__"): key for key in keys()}
    variables = {given[each["name"]]: each for each in container(door)["env"]}
    assert set(variables) == {"door.address", "door.certificate", "door.key", "door.token"}
    (mounted,) = [each["mountPath"] for each in container(door)["volumeMounts"] if each["name"] == "door"]
    assert variables["door.key"]["value"] == f"{mounted}/tls.key"
    assert [each["metadata"]["name"] for each in overlay.kind("ScaledObject")] == ["scentline-observe"]
    assert float(overlay.environment()["SCENTLINE_FRONTIER__LEASE_SECONDS"]) == LONGEST_LEASE


def test_with_rendering_a_worker_of_another_image_is_as_the_others_and_reaches_what_fetch_reaches(
    tmp_path: Path,
) -> None:
    overlay = rendered(with_component(tmp_path, "prod", "render"))
    assert set(overlay.workers()) == {*ROLES, "render"}
    worker, fetch = (overlay.workers()[role] for role in ("render", "fetch"))
    same = json.loads(
        json.dumps(fetch).replace("scentline-fetch", "scentline-render").replace("fetch", "render")
    )
    browsing, shared = pod(worker)["volumes"], {"medium": "Memory", "sizeLimit": "1Gi"}
    assert [volume["emptyDir"] for volume in browsing if volume["name"] == "tmp"] == [shared]
    for each in (worker, same):
        each["spec"]["template"]["spec"]["volumes"] = [v for v in pod(each)["volumes"] if v["name"] != "tmp"]
        for own in ("resources", "image", "env"):
            container(each).pop(own, None)
    assert worker == same
    assert overlay.environment()["SCENTLINE_RENDER__PAGES"] == "where-needed"
    assert overlay.one("ServiceAccount", "scentline-render")["automountServiceAccountToken"] is False
    scaled = overlay.one("ScaledObject", "scentline-render")["spec"]["triggers"][0]["metadata"]
    assert (scaled["topic"], scaled["consumerGroup"]) == (INBOXES["render"].name, "scentline-render")
    (component,) = policies(overlay)["fetch-internet"]["podSelector"]["matchExpressions"]
    assert component["values"] == ["fetch", "render"]


def test_fetch_reaches_the_internet_and_no_inner_address() -> None:
    known = {ip_address(text): is_outer for text, is_outer in ADDRESSES if "%" not in text}
    assert {address: lets_out(fetches(), address) for address in known} == known


@given(st.one_of(st.integers(0, 2**32 - 1).map(IPv4Address), st.integers(2**125, 2**126 - 1).map(IPv6Address)))
def test_what_the_policy_lets_out_to_the_guard_of_the_program_calls_global(address: Address) -> None:
    assert is_global(address) or not lets_out(fetches(), address)


def test_the_policy_lets_out_to_no_address_at_the_edge_of_a_special_block() -> None:
    for block, exceptions in blocks(fetches()):
        for each in exceptions:
            assert not (lets_out(fetches(), each[0]) or lets_out(fetches(), each[-1]))
            beside = (int(each[0]) - 1, int(each[-1]) + 1)
            outside = [type(each[0])(at) for at in beside if int(block[0]) <= at <= int(block[-1])]
            assert [at for at in outside if lets_out(fetches(), at) and not is_global(at)] == []


def test_the_places_for_networks_and_log_ins_are_filled_in_as_they_are_written(
    tmp_path: Path,
) -> None:
    """The comments of the production overlay, without their signs, deny networks and give fetch a log-in."""
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    path = tmp_path / "deploy" / "k8s" / "overlays" / "prod" / "kustomization.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"^( *)# (?=- SCENT|- target|  )", r"\1", text, flags=re.MULTILINE))
    filled = rendered(path.parent)
    denied = filled.environment()["SCENTLINE_FETCH__DENY"]
    networks = [ip_network(each) for each in denied.split(",") if "/" in each]
    assert [network.version for network in networks] == [4, 6]
    for policy, expected in ((fetches(), False), (policies(filled)["fetch-internet"], True)):
        excepted = [network for _, exceptions in blocks(policy) for network in exceptions]
        assert [network in excepted for network in networks] == [expected] * 2
    assert FetchSettings(deny=tuple(denied.split(","))).deny
    fetch = pod(filled.one("Deployment", "scentline-fetch"))
    (logins,) = (each["secret"] for each in fetch["volumes"] if each["name"] == "logins")
    header = {each["name"]: each.get("valueFrom") for each in fetch["containers"][0]["env"]}
    secret = header["SCENTLINE_FETCH__HEADERS"]["secretKeyRef"]
    assert logins["secretName"] == secret["name"] == "scentline-logins"


def test_workers_reach_kafka_and_names_prometheus_reaches_them_keda_reaches_kafka(overlay: Rendered) -> None:
    policy = policies(overlay)["workers"]
    assert policy["podSelector"]["matchLabels"] == WORKER
    kafka, names = policy["egress"]
    (listener,) = overlay.one("Kafka", "scentline")["spec"]["kafka"]["listeners"]
    assert KAFKA.items() <= kafka["to"][0]["podSelector"]["matchLabels"].items()
    assert [port["port"] for port in kafka["ports"]] == [listener["port"]]
    assert {(port["protocol"], port["port"]) for port in names["ports"]} == {("UDP", 53), ("TCP", 53)}
    (metrics,) = policy["ingress"]
    assert metrics["ports"] == [{"protocol": "TCP", "port": 9464}]
    assert listener["authentication"] == {"type": "tls"}
    assert listener["networkPolicyPeers"] == [
        {"podSelector": {"matchLabels": WORKER}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "keda"}}},
    ]


# generated files

FILES = files()


@each_case("name", FILES)
def test_a_generated_file_is_what_the_generator_makes_now(name: str) -> None:
    assert (DEPLOY / name).read_text(encoding="utf-8") == FILES[name], "run `make manifests`"


def test_the_settings_file_shows_every_setting_and_a_worker_takes_it_as_it_stands() -> None:
    section, shown = "", set()
    for line in FILES["k8s/base/scentline.toml"].splitlines():
        if line.startswith("["):
            section = line.strip("[]") + "."
        shown.add(section + line.removeprefix("# ").partition(" ")[0].rstrip(":"))
    assert [key for key in keys() if key not in shown] == []
    loaded = load(config_file=DEPLOY / "k8s" / "base" / "scentline.toml", environ={})
    assert {key for key, where in loaded.origins.items() if where != "default"} == set(GIVEN)
    assert loaded.settings.streams.partitions == PARTITIONS


def test_with_a_prefix_every_name_at_the_broker_has_it() -> None:
    prefixed = files("two-")
    topics, users = (
        list(yaml.safe_load_all(prefixed[f"k8s/base/kafka/{name}.yaml"])) for name in ("topics", "users")
    )
    names = [each["metadata"]["name"] for each in (*topics, *users)]
    acls = [acl["resource"]["name"] for user in users for acl in user["spec"]["authorization"]["acls"]]
    assert {name.partition("-")[0] for name in (*names, *acls)} == {"two"}
    plain = {name: text.replace("two-", "") for name, text in prefixed.items() if name.endswith("yaml")}
    assert plain.items() <= FILES.items()
    assert 'prefix = "two-"' in prefixed["k8s/base/scentline.toml"]


def test_overlays_have_the_declared_topics_enough_brokers_and_workers_by_partitions(overlay: Rendered) -> None:
    settings = load(
        config_file=DEPLOY / "k8s" / "base" / "scentline.toml", environ=dict(overlay.environment())
    ).settings
    partitions, replicas = settings.streams.partitions, settings.kafka.replication
    topics = {topic["metadata"]["name"]: topic["spec"] for topic in overlay.kind("KafkaTopic")}
    assert topics == {
        topic.name: {"partitions": topic.partitions, "replicas": replicas, "config": topic.configs}
        for topic in declared(partitions, replicas)
    }
    most = [scaled["spec"]["maxReplicaCount"] for scaled in overlay.kind("ScaledObject")]
    most += [each["spec"]["replicas"] for each in overlay.kind("StatefulSet")]
    assert max(most) <= partitions
    pools = [pool["spec"] for pool in overlay.kind("KafkaNodePool") if "broker" in pool["spec"]["roles"]]
    config = overlay.one("Kafka", "scentline")["spec"]["kafka"]["config"]
    assert sum(pool["replicas"] for pool in pools) >= replicas
    assert config["default.replication.factor"] == replicas
    assert config["auto.create.topics.enable"] is False


def test_the_settings_file_and_the_alerts_are_those_of_the_plain_files(overlay: Rendered) -> None:
    assert overlay.configured("scentline-settings")["scentline.toml"] == FILES["k8s/base/scentline.toml"]
    plain = yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text(encoding="utf-8"))
    assert overlay.one("PrometheusRule", "scentline")["spec"] == plain
