"""Only fetch reaches the internet, and nothing else than the internet; the rest is denied."""

import re
import shutil
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deploy.manifests.configuration import GIVEN
from deploy.manifests.files import DEPLOY
from scentline.agents.fetch.guard import Address, Network, is_global
from scentline.streams.crawl_settings import FetchSettings
from tests.deploy.conftest import Rendered, render, rendered

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


def test_what_no_policy_allows_is_denied(overlay: Rendered) -> None:
    assert policies(overlay)["default-deny"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_every_rule_names_whom_it_lets_in_or_out(overlay: Rendered) -> None:
    kafkas_own = [{"podSelector": {"matchLabels": KAFKA}}]
    for policy in policies(overlay).values():
        rules = policy.get("egress", [])
        assert all(rule.get("to") and (rule.get("ports") or rule["to"] == kafkas_own) for rule in rules)
        assert all(rule.get("from") and rule.get("ports") for rule in policy.get("ingress", []))


def test_fetch_alone_has_the_internet(overlay: Rendered) -> None:
    found = policies(overlay)
    selected = found["fetch-internet"]["podSelector"]["matchLabels"]
    for role, each in overlay.workers().items():
        labels = each["spec"]["template"]["metadata"]["labels"]
        assert (selected.items() <= labels.items()) == (role == "fetch")
    for name, policy in found.items():
        if name != "fetch-internet":
            assert [str(block) for block, _ in blocks(policy) if str(block) not in PRIVATE] == []


INNER = """
    10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 169.254.169.254 127.0.0.1 168.63.129.16 0.0.0.0
    224.0.0.1 255.255.255.255 198.18.0.1 192.0.0.170 ::1 ::ffff:10.0.0.1 64:ff9b::10.0.0.1 fc00::1
    fd00:ec2::254 fe80::1 ff02::1 2001::1 2001:db8::1 2002:a00:1::1 3fff::1
"""
OUTER = "9.9.9.9 172.15.255.255 172.32.0.0 100.128.0.1 2620:fe::fe 2a00:1450:4001::1"


def test_fetch_reaches_the_internet_and_no_inner_address() -> None:
    assert [each for each in INNER.split() if lets_out(fetches(), ip_address(each))] == []
    assert [each for each in OUTER.split() if not lets_out(fetches(), ip_address(each))] == []


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


def test_fetch_reaches_the_ports_that_its_settings_name_and_no_other(overlay: Rendered) -> None:
    (rule,) = policies(overlay)["fetch-internet"]["egress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": port} for port in GIVEN["fetch.ports"]]
    assert GIVEN["fetch.ports"] == [80, 443]


def test_the_place_for_networks_of_one_s_own_is_filled_in_as_it_is_written(tmp_path: Path) -> None:
    """The comments of the production overlay, without their signs, deny the networks that they name."""
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    path = tmp_path / "deploy" / "k8s" / "overlays" / "prod" / "kustomization.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"^( *)# (?=- SCENTLINE_FETCH__DENY|- target|  )", r"\1", text, flags=re.MULTILINE))
    filled = rendered(path.parent)
    denied = filled.configured("scentline-environment")["SCENTLINE_FETCH__DENY"]
    networks = [ip_network(each) for each in denied.split(",") if "/" in each]
    assert [network.version for network in networks] == [4, 6]
    for policy, expected in ((fetches(), False), (policies(filled)["fetch-internet"], True)):
        excepted = [network for _, exceptions in blocks(policy) for network in exceptions]
        assert [network in excepted for network in networks] == [expected] * 2
    assert FetchSettings(deny=tuple(denied.split(","))).deny


def test_every_worker_reaches_kafka_and_names_and_is_reached_by_prometheus(overlay: Rendered) -> None:
    policy = policies(overlay)["workers"]
    assert policy["podSelector"]["matchLabels"] == WORKER
    kafka, names = policy["egress"]
    (listener,) = overlay.one("Kafka", "scentline")["spec"]["kafka"]["listeners"]
    assert KAFKA.items() <= kafka["to"][0]["podSelector"]["matchLabels"].items()
    assert [port["port"] for port in kafka["ports"]] == [listener["port"]]
    assert {(port["protocol"], port["port"]) for port in names["ports"]} == {("UDP", 53), ("TCP", 53)}
    (metrics,) = policy["ingress"]
    assert metrics["ports"] == [{"protocol": "TCP", "port": 9464}]


def test_kafka_lets_in_workers_and_keda_only(overlay: Rendered) -> None:
    (listener,) = overlay.one("Kafka", "scentline")["spec"]["kafka"]["listeners"]
    assert listener["authentication"] == {"type": "tls"}
    assert listener["networkPolicyPeers"] == [
        {"podSelector": {"matchLabels": WORKER}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "keda"}}},
    ]
