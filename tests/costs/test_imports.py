"""What a start imports: no library that a crawl has no use for before its first page, in either process."""

import json
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import ROOT, environment
from tests.cases import each_case
from tests.e2e.crawls import options, synthetic
from tests.patience import PATIENCE

#: What people see, what other commands do, what few pages need: imported by whoever comes to use it.
UNUSED = {
    "aiokafka", "charset_normalizer", "croniter", "fsspec", "httpx._main", "matplotlib", "numpy.ma", "pygments",
    "py3langid", "rich", "river.naive_bayes", "scipy", "yaml", "scentline.agents.cli.explain", "scentline_lab",
}  # fmt: skip
#: What only the page reader's process has a use for.
UNUSED_BESIDE_READER = {"lxml"}
#: What else the page reader's process has no use for.
UNUSED_BY_READER = {
    "scentline.agents.worker", "aiohttp", "asyncio", "faust", "httpx", "pydantic", "ssl",
    "scentline.streams.settings", "typer",
}  # fmt: skip
#: What the process that a command starts in leaves to the thread beside the page reader's start.
BESIDE = {"aiohttp", "faust", "httpx"}
_PRINTED = "import json, sys; print(json.dumps([name for name, module in sys.modules.items() if module]))"


def test_a_crawl_of_one_page_imports_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    web = SyntheticWeb(3, 1, 20, 2)
    with synthetic(web) as served:
        given = {"fetch.proxy": served.origin, "fetch.delay_seconds": 0, "data": str(tmp_path / "data")}
        where = ("--seed", *web.seeds(1), "--budget", "1", "--policy", "learned", "--predicate", 'a="page"')
        arguments = ["crawl", *where, *options(given)]
        code = f"from scentline.agents.cli import main\ntry: main({arguments})\nfinally: {_PRINTED}"
        assert within(imported(code), UNUSED | UNUSED_BESIDE_READER) == []


def test_help_imports_nothing_slow() -> None:
    names = imported(f"from scentline.agents.cli import main\ntry: main(['--help'])\nfinally: {_PRINTED}")
    assert within(names, {"faust", "matplotlib", "pydantic", "lxml", "httpx"}) == []


def test_the_contexts_that_aiohttp_makes_hold_no_certificates_and_one_trusts_nobody() -> None:
    made = "import_aiohttp(); from aiohttp import connector; made = connector._SSL_CONTEXT_VERIFIED"
    held = "for one in (made, connector._SSL_CONTEXT_UNVERIFIED): print(*one.cert_store_stats().values())"
    trusts = "print(made.verify_mode.name, made.check_hostname)"
    lines = printed(f"from scentline.streams.memory import import_aiohttp; {made}; {trusts}\n{held}")
    assert lines == ["CERT_REQUIRED True", "0 0 0", "0 0 0"]


def test_faust_is_imported_without_a_kafka_client_which_can_be_imported_later() -> None:
    code = "from scentline.streams import memory; memory.import_faust(); import aiokafka.client, croniter, yaml"
    assert printed(f"{code}; print(yaml.safe_load('a: 1'), aiokafka.client.AIOKafkaClient.__name__)") == [
        "{'a': 1} AIOKafkaClient"
    ]


@each_case(
    ("module", "unused"),
    [
        ("scentline.agents.judge.examiner", UNUSED | UNUSED_BY_READER),
        # What takes long to import waits until the page reader's process starts.
        ("scentline.agents.worker.command", UNUSED | BESIDE),
        # Most commands read what a crawl has kept.
        ("scentline.agents.operate.control", UNUSED | BESIDE - {"httpx"}),
    ],
)
def test_neither_process_imports_what_only_the_other_uses_or_what_can_wait(
    module: str, unused: Collection[str]
) -> None:
    code = "from scentline.streams.memory import import_sparingly; import_sparingly()"
    assert within(imported(f"{code}; import {module}; {_PRINTED}"), unused) == []


def test_numbers_have_one_thread_before_they_are_loaded(tmp_path: Path) -> None:
    free = "import os, sys; os.environ.pop('OPENBLAS_NUM_THREADS', None)\nclass Watch:\n def find_spec(*named):"
    watch = f"{free}\n  if named[1] == 'numpy': print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    command = f"from scentline.agents.cli import main; main(['top', '--data', {f'{tmp_path}/none'!r}])"
    assert printed(f"{watch}\nsys.meta_path.insert(0, Watch())\n{command}")[0] == "1"


def imported(code: str) -> list[str]:
    """Return the modules that a process has loaded when it has run the code, which prints them."""
    names: list[str] = json.loads(printed(code)[-1])
    return names


def printed(code: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True,
        timeout=PATIENCE,
    )  # fmt: skip
    return run.stdout.splitlines()


def within(names: Collection[str], packages: Collection[str]) -> list[str]:
    return sorted(name for name in names if any(f"{name}.".startswith(f"{package}.") for package in packages))
