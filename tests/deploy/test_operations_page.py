"""The page on operations says what is there: alerts, commands, settings, metrics, sizes."""

import re
import shlex
from collections.abc import Iterator

import pytest
import typer
import yaml

from deploy.manifests.configuration import GIVEN
from deploy.manifests.files import DEPLOY, ROOT
from scentline.streams.configuration import keys
from scentline.streams.metrics.catalogue import CATALOGUE
from scentline.streams.settings import Settings
from tests.cases import each_case
from tests.deploy.conftest import Rendered, container
from tests.test_pages import parsed

TEXT = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
#: What a control plane without containers and operators can carry out, and does not take minutes for.
CARRIED_OUT = {"create", "apply", "diff", "scale", "get", "delete", "rollout restart", "rollout undo"}
RULES = yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text(encoding="utf-8"))
MEGABYTE = 1_000_000


def commands(text: str = TEXT) -> Iterator[str]:
    """Yield each line of the blocks of shell commands."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from (line for line in block.splitlines() if line)


def section(title: str) -> str:
    """Return the text of a section of the page."""
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


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    settings = Settings()
    plain = " ".join(TEXT.split())
    assert (settings.frontier.queue, "`frontier.queue`, 100,000 a predicate" in plain) == (100_000, True)
    assert (settings.streams.cached_bytes, "for each table, 16 MiB" in plain) == (16 * 1024**2, True)
    assert (settings.fetch.connections, "64 is `fetch.connections`" in plain) == (64, True)
    assert (GIVEN["streams.partitions"], "12, as in `prod`" in plain) == (12, True)


def test_a_worker_of_frontier_that_holds_everything_fits_its_limit(prod: Rendered) -> None:
    assert "150 MB + predicates x 30 MB + 4 x streams.cached_bytes + partitions x 64 MB" in TEXT
    rows = 4 * Settings().streams.cached_bytes
    needed = (150 + 10 * 30 + GIVEN["streams.partitions"] * 64) * MEGABYTE + rows  # with ten predicates
    assert f"makes {needed / 1e9:.1f} GB with ten predicates" in " ".join(TEXT.split())
    assert container(prod.workers()["frontier"])["resources"]["limits"]["memory"] == "4Gi"
    assert needed < 0.6 * 4 * 1024**3
