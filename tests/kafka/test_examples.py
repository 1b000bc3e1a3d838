"""The examples in the help that name a broker work as they stand."""

import shlex
import signal
from pathlib import Path

import pytest

from scentline.agents.cli import load_commands
from tests.agents.commands import printed, running
from tests.agents.test_cli_examples import STOPPED
from tests.patience import PATIENCE


def shown() -> list[str]:
    """Return the examples that name a broker and end by themselves: first what makes the topics."""
    lines = [line for examples in load_commands().values() for line in examples if "kafka://" in line]
    ending = [line for line in lines if line not in STOPPED and not line.startswith("scentline worker ")]
    return sorted(ending, key=lambda line: "topics create" not in line)


@pytest.mark.slow
def test_the_examples_that_name_a_broker_work(empty_kafka: str, tmp_path: Path) -> None:
    lines = shown()
    assert lines[0].startswith("scentline topics create ")
    for line in lines:
        printed(tmp_path, *words(line, empty_kafka))
    (following,) = (line for line in load_commands()["snapshot"] if line in STOPPED)
    with running(tmp_path, *words(following, empty_kafka)) as process:
        assert process.stdout is not None
        assert "records copied to mirror; following" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def words(line: str, broker: str) -> list[str]:
    return shlex.split(line.replace("kafka://localhost:9092", broker))[1:]
