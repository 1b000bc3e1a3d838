"""The workers' settings file: every key, those of production set, the others as comments."""

from typing import Any

from deploy.manifests.topics import CLUSTER, PARTITIONS, REPLICAS
from scentline.agents.operate.starting import commented
from scentline.streams.settings import keys

#: The paths of a worker's container.
DATA = "/var/lib/scentline"
CREDENTIALS = "/etc/scentline/kafka"
METRICS_PORT = 9464

#: The settings of a worker in Kubernetes; all others are as in docs/settings.md.
GIVEN: dict[str, Any] = {
    "data": DATA,
    "broker": f"kafka://{CLUSTER}-kafka-bootstrap:9093",
    "streams.partitions": PARTITIONS,
    # The NetworkPolicy fetch-internet allows only these: an order for another port is refused at once.
    "fetch.ports": [80, 443],
    "kafka.security": "ssl",
    "kafka.ca_file": f"{CREDENTIALS}/ca.crt",
    "kafka.cert_file": f"{CREDENTIALS}/user.crt",
    "kafka.key_file": f"{CREDENTIALS}/user.key",
    "kafka.replication": REPLICAS,
    "metrics.host": "0.0.0.0",  # noqa: S104 - the pod's own address; a NetworkPolicy says who reaches it
    "metrics.port": METRICS_PORT,
    "log.json_lines": True,
}

_HEAD = """\
# Written by `make manifests` from streams/settings.py and deploy/manifests/configuration.py; edit those, not
# this file. An overlay changes a value by the environment: scentline-environment in its kustomization.yaml.
"""


def configuration(prefix: str = "") -> str:
    """Return the text of scentline.toml; raises `ValueError` for a value of an unknown setting."""
    known, given = keys(), GIVEN | ({"kafka.prefix": prefix} if prefix else {})
    if unknown := given.keys() - known.keys():
        raise ValueError(f"writing scentline.toml: no such settings: {', '.join(sorted(unknown))}")
    return "\n".join([_HEAD, *commented(given, known)]) + "\n"
