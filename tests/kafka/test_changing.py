"""On Kafka too a web that changes is kept up with through kill -9: each change is told once."""

from pathlib import Path

import pytest

from scentline.agents.operate.audit.audit import audit
from scentline.agents.operate.snapshot import take
from scentline.streams.settings import Settings
from tests.agents.commands import printed
from tests.e2e.keeping import Keeping
from tests.webs.changing import LAST, serving

pytestmark = pytest.mark.slow


def test_each_change_is_told_once_and_every_count_is_exact(tmp_path: Path, empty_kafka: str) -> None:
    printed(tmp_path, "topics", "create", "--partitions", "2", "--broker", empty_kafka)
    given = ("kafka.session_seconds=3", "kafka.heartbeat_seconds=0.5", "observe.user_key=k")
    options = [word for each in given for word in ("--set", each)]
    keeping = Keeping(tmp_path, "combined", "--broker", empty_kafka, *options)
    with serving(keeping.web):
        keeping.go_on(0)
        keeping.settle()
        keeping.add_sea()
        keeping.go_on(LAST)
        keeping.kill(40)
        keeping.settle()
        keeping.drain()
    assert keeping.told() == keeping.expected
    settings = Settings.model_validate(
        {"broker": empty_kafka, "data": tmp_path / "snapshot", "frontier": {"policy": "combined"}}
    )
    take(settings, lambda _: None)
    report = audit(settings)
    assert report.examples == []
    keeping.check(report.as_dict())
