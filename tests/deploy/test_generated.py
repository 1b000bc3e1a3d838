"""Generated files are what the generator makes now, and so hold every topic, user and setting of the code."""

import yaml

from deploy.manifests.configuration import GIVEN
from deploy.manifests.files import DEPLOY, files
from deploy.manifests.topics import PARTITIONS
from scentline.streams.configuration import keys, load
from scentline.streams.topics import declared
from tests.cases import each_case
from tests.deploy.conftest import Rendered

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


def test_every_overlay_has_the_topics_that_are_declared_for_its_settings(overlay: Rendered) -> None:
    partitions, replicas = streams(overlay)
    found = {
        topic["metadata"]["name"]: (topic["spec"]["partitions"], topic["spec"]["config"])
        for topic in overlay.kind("KafkaTopic")
    }
    expected = {topic.name: (topic.partitions, topic.configs) for topic in declared(partitions, replicas)}
    assert found == expected
    assert {topic["spec"]["replicas"] for topic in overlay.kind("KafkaTopic")} == {replicas}
    assert not any("topicName" in topic["spec"] for topic in overlay.kind("KafkaTopic"))


def test_there_are_brokers_for_the_replicas_and_no_more_workers_than_partitions(overlay: Rendered) -> None:
    partitions, replicas = streams(overlay)
    most = [scaled["spec"]["maxReplicaCount"] for scaled in overlay.kind("ScaledObject")]
    most += [each["spec"]["replicas"] for each in overlay.kind("StatefulSet")]
    assert max(most) <= partitions
    pools = [pool["spec"] for pool in overlay.kind("KafkaNodePool") if "broker" in pool["spec"]["roles"]]
    config = overlay.one("Kafka", "scentline")["spec"]["kafka"]["config"]
    assert sum(pool["replicas"] for pool in pools) >= replicas
    assert config["default.replication.factor"] == replicas
    assert config["auto.create.topics.enable"] is False


def streams(overlay: Rendered) -> tuple[int, int]:
    """Return partitions and replication as an overlay's workers are told."""
    settings = load(
        config_file=DEPLOY / "k8s" / "base" / "scentline.toml",
        environ=dict(overlay.configured("scentline-environment")),
    ).settings
    return settings.streams.partitions, settings.kafka.replication


def test_the_settings_file_and_the_alerts_are_those_of_the_plain_files(overlay: Rendered) -> None:
    assert overlay.configured("scentline-settings")["scentline.toml"] == FILES["k8s/base/scentline.toml"]
    plain = yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text(encoding="utf-8"))
    assert overlay.one("PrometheusRule", "scentline")["spec"] == plain
