"""What ``make kafka`` and ``make kafka-stop`` run."""

import argparse
import sys
from pathlib import Path

from deploy.kafka.broker import Broker
from deploy.kafka.jars import CACHE, BrokerError
from deploy.kafka.properties import read_properties
from scentline.agents.signals import end_as_by_ctrl_c


def main() -> int:
    """Start or stop the broker of this checkout; return the exit status."""
    parser = argparse.ArgumentParser(prog="deploy.kafka", description="One Kafka broker on this machine.")
    parser.add_argument("do", choices=("start", "stop"))
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--properties", type=Path, help="further properties, listeners among them")
    given = parser.parse_args()
    end_as_by_ctrl_c()
    try:
        return _start(given.port, given.properties) if given.do == "start" else _stop()
    except (BrokerError, OSError, ValueError) as error:
        print(f"make kafka: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _start(port: int, properties: Path | None) -> int:
    further = read_properties(properties.read_text(encoding="utf-8")) if properties else None
    broker = Broker(CACHE / "broker", port, further)
    if broker.running:
        print("make kafka: it is running already", file=sys.stderr)
    else:
        broker.start()
    print(broker.address)
    return 0


def _stop() -> int:
    stopped = Broker(CACHE / "broker", 0).stop()
    print("make kafka-stop: " + ("stopped" if stopped else "none was running"), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
