"""TLS, mutual TLS and passwords, against a broker that asks for them; what is wrong is said, no secret is."""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from kafka.admin import KafkaAdminClient, ScramMechanism, UserScramCredentialUpsertion

from deploy.kafka.broker import QUICK, Broker
from deploy.ports import free_port
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings, load
from scentline.streams.topics import ACCESSES, declared
from scentline.streams.transport.kafka.admin import Admin
from scentline.streams.transport.kafka.bus import KafkaBus
from scentline.streams.transport.kafka.connection import KafkaError, UnreachableError, probe
from tests.cases import each_case
from tests.kafka.crawls import Accesses, servers, started
from tests.patience import PATIENCE

USER = "scentline"
SECRET = "s3cr3t-as-can-be"
LOGIN = "org.apache.kafka.common.security"


@dataclass
class Secured:
    """A broker with a listener a kind of security, and the files of who may use it."""

    listeners: dict[str, str]
    files: Path

    def broker(self, security: str) -> str:
        return f"kafka://{self.listeners[security.upper()]}"

    def settings(self, security: str, **given: Any) -> Settings:
        """Return the settings that are right, but for those given; None leaves one out."""
        kafka: dict[str, Any] = {"security": security, "session_seconds": 3, "heartbeat_seconds": 0.5}
        if security.endswith("ssl"):
            kafka["ca_file"] = self.files / "ca.pem"
        if security == "ssl":
            kafka |= {"cert_file": self.files / "cert.pem", "key_file": self.files / "key.pem"}
        else:
            kafka |= {"username": USER, "password": SECRET}
        kafka = {key: value for key, value in (kafka | given).items() if value is not None}
        return Settings(broker=self.broker(security), data=self.files / security, kafka=kafka)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    files = tmp_path_factory.mktemp("secured")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(files / "ca.pem")
    trustme.CA().cert_pem.write_to_path(files / "other-ca.pem")
    _issue(authority, "127.0.0.1", files / "broker.pem", files / "broker.pem")
    _issue(authority, "worker@scentline.internal", files / "cert.pem", files / "key.pem")
    listeners = {name: f"127.0.0.1:{free_port()}" for name in ("SSL", "SASL_SSL", "SASL_PLAINTEXT")}
    properties = {
        "listeners": ",".join(f"{name}://{address}" for name, address in listeners.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{name}" for name in listeners),
        "ssl.keystore.type": "PEM", "ssl.keystore.location": str(files / "broker.pem"),
        "ssl.truststore.type": "PEM", "ssl.truststore.location": str(files / "ca.pem"),
        "listener.name.ssl.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    }  # fmt: skip
    plain = f'{LOGIN}.plain.PlainLoginModule required user_{USER}="{SECRET}";'
    scram = f"{LOGIN}.scram.ScramLoginModule required;"
    for name in ("sasl_ssl", "sasl_plaintext"):
        for mechanism, module in (("plain", plain), ("scram-sha-256", scram), ("scram-sha-512", scram)):
            properties[f"listener.name.{name}.{mechanism}.sasl.jaas.config"] = module
    with started(Broker(files / "broker", free_port(), properties, QUICK)) as broker:
        with KafkaAdminClient(bootstrap_servers=servers(broker.address)) as client:
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
                credential = UserScramCredentialUpsertion(USER, mechanism, SECRET)
                assert client.alter_user_scram_credentials([credential]) == {USER: None}
        with Admin(Settings(broker=broker.address)) as admin:
            admin.create(declared(1), 1)
        yield Secured(listeners, files)


def _issue(authority: trustme.CA, name: str, certificate: Path, key: Path) -> None:
    """Write a certificate, and its key as Kafka wants it (PKCS 8), to two files or to one."""
    issued = authority.issue_cert(name)
    private = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with certificate.open("ab") as file:
        for part in issued.cert_chain_pems:
            file.write(part.bytes())


def fail(error: BaseException) -> None:
    raise error


#: Ways to a broker, and whether a worker takes its partitions on them, too.
WAYS = [
    ("ssl", {}, True), ("sasl_ssl", {"sasl_mechanism": "PLAIN"}, False),
    ("sasl_ssl", {"sasl_mechanism": "SCRAM-SHA-256"}, False),
    ("sasl_ssl", {"sasl_mechanism": "SCRAM-SHA-512"}, True), ("sasl_plaintext", {}, False),
]  # fmt: skip


@each_case(("security", "given", "works"), WAYS)
def test_it_writes_reads_and_works(secured: Secured, security: str, given: dict[str, str], works: bool) -> None:
    settings = secured.settings(security, **given)
    value = f"{security} {given}".encode()

    async def run() -> bytes | None:
        async with KafkaBus(settings) as bus, asyncio.timeout(PATIENCE):
            start = (await bus.ends(ACCESSES.name))[0]
            await bus.send_all([(ACCESSES.name, 0, None, value)])
            [entry] = await bus.fetch(ACCESSES.name, 0, start, 10)
            if works:
                runtime = Runtime(bus.app(f"browse-{security}"), settings, bus, fail)
                counter = Accesses(runtime)
                runtime.app.finalize()
                await runtime.app.start()
                while not counter.inbox.shards:
                    await asyncio.sleep(0.05)
                await runtime.app.stop()
            return entry.value

    assert asyncio.run(run()) == value
    with Admin(settings) as admin:
        assert ACCESSES.name in admin.topics([ACCESSES.name])


def test_a_password_may_lie_in_a_file_and_settings_do_not_show_one(secured: Secured, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(SECRET + "\n")
    asyncio.run(probe(secured.settings("sasl_ssl", password=None, password_file=tmp_path / "password")))
    environ = {"SCENTLINE_KAFKA__PASSWORD": SECRET, "SCENTLINE_KAFKA__USERNAME": USER}
    loaded = load(environ=environ, cwd=tmp_path)
    assert SECRET not in f"{loaded.settings!r}{loaded.values()}"
    assert loaded.settings.kafka.password is not None
    assert loaded.settings.kafka.password.get_secret_value() == SECRET


def refused(settings: Settings, expected: str, caplog: pytest.LogCaptureFixture) -> None:
    """Check that a broker can't be used under the settings, with a reason that is final and holds no secret."""
    caplog.set_level(logging.INFO)
    with pytest.raises(KafkaError, match=expected) as caught:
        asyncio.run(probe(settings))
    assert not isinstance(caught.value, UnreachableError)
    for secret in (SECRET, "wr0ng"):
        assert secret not in f"{caught.value}{caught.value.__cause__}{caplog.text}"


def test_what_broker_or_worker_refuses_is_one_error(secured: Secured, caplog: pytest.LogCaptureFixture) -> None:
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        settings = secured.settings("sasl_ssl", sasl_mechanism=mechanism, password="wr0ng-as-can-be")
        refused(settings, rf"it refuses kafka\.username and password \({mechanism}\)$", caplog)
    for security in ("ssl", "sasl_ssl"):
        settings = secured.settings(security, ca_file=secured.files / "other-ca.pem")
        refused(settings, r"its certificate is not trusted \(.+\); expected one", caplog)
    settings = secured.settings("ssl", cert_file=None, key_file=None)
    refused(settings, r"it refuses the connection \(.*CERTIFICATE.*\)", caplog)
    with pytest.raises(UnreachableError, match=r"no answer \(.+\); .* kafka.security plaintext\?"):
        asyncio.run(probe(Settings(broker=secured.broker("sasl_ssl"))))
