"""One Apache Kafka broker in a directory of its own: format, start, wait, stop."""

import shutil
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from deploy.kafka.jars import BrokerError, classpath, require
from deploy.kafka.process import find, note, noted
from deploy.kafka.properties import server_properties, write_properties
from deploy.ports import HOST, free, free_port

HEAP_MB = 512
#: Java options that halve the work of a start, and slow down a long run.
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_START_SECONDS = 120
_STOP_SECONDS = 30
_TAIL = 2000  # characters of the log in an error
#: Logged by KafkaRaftServer once the broker has joined its cluster and answers.
_READY = "Kafka Server started"
_LOGGING = [
    f"-Dorg.slf4j.simpleLogger.{option}"
    for option in (
        "defaultLogLevel=warn", "log.kafka.server.KafkaRaftServer=info", "showDateTime=true",
        "dateTimeFormat=yyyy-MM-dd HH:mm:ss",
    )
]  # fmt: skip


class Broker:
    """A broker that keeps everything in ``directory`` and listens on loopback.

    ``properties`` adds properties, such as listeners (`deploy.kafka.properties.server_properties`), ``java``
    adds Java options. Other instances with the same directory are the same broker, which outlives this process.
    """

    def __init__(
        self,
        directory: Path,
        port: int,
        properties: Mapping[str, str] | None = None,
        java: Sequence[str] = (),
    ) -> None:
        self.directory = directory.absolute()
        self._port = port
        self._given = properties
        self._options = [f"-Xmx{HEAP_MB}m", *java]
        self._file = self.directory / "server.properties"
        self._note = self.directory / "process.json"
        self._log = self.directory / "broker.log"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Its address as in the setting ``broker``: the actual one while it runs."""
        known = noted(self._note) if self.running else None
        return known.address if known else f"kafka://{HOST}:{self._port}"

    @property
    def running(self) -> bool:
        """Whether its process runs."""
        return self._process() is not None

    def start(self) -> None:
        """Start it, on the data that it kept, if any, and wait until it answers.

        Raises `BrokerError` where Java, Maven or a jar is missing, the port is taken, or the broker ends.
        """
        java = [require("java", "default-jre-headless"), *_LOGGING, "-cp", classpath()]
        if not free(self._port):
            raise BrokerError(f"port {self._port} of {HOST} is taken: end what listens there, or name another")
        self.directory.mkdir(parents=True, exist_ok=True)
        data = self.directory / "data"
        properties = server_properties(data, self._port, free_port(), self._given)
        self._file.touch(mode=0o600)
        self._file.write_bytes(write_properties(properties))
        if not (data / "meta.properties").exists():
            self._format([*java, *QUICK, "kafka.tools.StorageTool"], data)
        with self._log.open("wb") as log:
            self._child = subprocess.Popen(  # noqa: S603 - no shell reads it
                [*java, *self._options, "kafka.Kafka", str(self._file)], stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        try:
            note(self._note, self._child.pid, f"kafka://{HOST}:{self._port}")
            self._wait(self._child)
        except BaseException:
            self._child.kill()
            self._child.wait()
            raise

    def stop(self) -> bool:
        """Shut it down and wait for its end; return whether it ran."""
        process = self._process()
        if process is None:
            return False
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait()
        self._ended()
        return True

    def kill(self) -> None:
        """Kill it as a crash would (SIGKILL)."""
        process = self._process()
        if process is not None:
            process.kill()
            process.wait()
            self._ended()

    def _ended(self) -> None:
        self._note.unlink()
        if self._child is not None:
            self._child.wait()
            self._child = None

    def _process(self) -> psutil.Process | None:
        return find(self._note, str(self._file))

    def _format(self, tool: list[str], data: Path) -> None:
        identity = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        run = subprocess.run(  # noqa: S603 - no shell reads it
            [*tool, "format", f"--cluster-id={identity}", "-c", str(self._file)],  # it may begin with a dash
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            shutil.rmtree(data, ignore_errors=True)
            raise BrokerError(f"Kafka could not format {data}:\n{(run.stdout + run.stderr).strip()[-_TAIL:]}")

    def _wait(self, child: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + _START_SECONDS
        while _READY not in (said := self._log.read_text(encoding="utf-8", errors="replace")):
            if child.poll() is not None:
                raise BrokerError(f"the broker ended with status {child.returncode}:\n{said[-_TAIL:]}")
            if time.monotonic() > end:
                raise BrokerError(f"the broker was not ready in {_START_SECONDS} s:\n{said[-_TAIL:]}")
            time.sleep(0.1)
