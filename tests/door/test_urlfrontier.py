"""URLFrontier's gRPC: its own black-box tests, and what its clients may expect beyond them."""

import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.door.proto import CALLS, MESSAGES, OK, SKIPPED, message
from tests.door.urlfrontier import CallError, Client, crawling, discovered, info, known, metadata_of
from tests.patience import PATIENCE
from tests.shared import shared

PROTO = "../urlfrontier/urlfrontier.proto"
TESTS = "crawlercommons.urlfrontier.service.URLFrontierServiceTest"
#: Runs one test of a class, which JUnit's own command can't.
RUN_ONE = """
import org.junit.runner.*;
public class RunOne {
    public static void main(String[] words) throws Exception {
        Result result = new JUnitCore().run(Request.method(Class.forName(words[0]), words[1]));
        result.getFailures().forEach(failure -> System.out.println(failure.getTrace()));
        System.exit(result.wasSuccessful() && result.getRunCount() == 1 ? 0 : 1);
    }
}
"""


def test_names_and_numbers_are_those_of_urlfrontier() -> None:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", shared(PROTO).read_text(), flags=re.DOTALL)
    text = re.sub(r"enum \w+ ?\{.*?\}|oneof item \{|optional ", "", text, flags=re.DOTALL)
    # An enumeration is a number on the wire.
    text = re.sub(r"(?:AckMessage\.)?Status (?=status)|Level (?=level)", "int32 ", text)
    text = re.sub(r"map<string, (\w+)>", r"map \1", text)
    theirs = {
        name: {int(number): field for field, number in re.findall(r"(\w[\w ]*?) = (\d+);", body)}
        for name, body in re.findall(r"message (\w+) \{(.*?)(?=message|\Z)", text, re.DOTALL)
    }
    split = {name: filter(None, fields.split(", ")) for name, fields in MESSAGES.items()}
    assert {name: dict(enumerate(fields, 1)) for name, fields in split.items()} == theirs
    rpc = re.findall(r"rpc (\w+)\(((?:stream )?\w+)\) returns \(((?:stream )?\w+)\)", text)
    assert {name: (asked, said) for name, asked, said in rpc} == CALLS


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that runs one of URLFrontier's own tests, which are compiled first."""
    source = shared("../urlfrontier/pom.xml").parent
    for program in ("java", "javac", "mvn"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    made = tmp_path_factory.mktemp("java")
    shutil.copytree(source, made, dirs_exist_ok=True)
    path = made / "classpath"
    goals = ("dependency:build-classpath", "test-compile", f"-Dmdep.outputFile={path}")
    subprocess.run(["mvn", "-q", "-B", *goals], cwd=made, check=True, timeout=PATIENCE)
    classes = f"{made}/target/test-classes"
    (made / "RunOne.java").write_text(RUN_ONE)
    compiling = ["javac", "-cp", path.read_text(), "-d", classes, "RunOne.java"]
    subprocess.run(compiling, cwd=made, check=True, timeout=PATIENCE)
    return ["java", "-cp", f"{classes}:{path.read_text()}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["NeverRefetched", "RightOrder", "testUpdates", "testQueueNames", "testCrawlIDs"]
)
def test_a_test_of_urlfrontier_on_a_new_crawl(tmp_path: Path, java: list[str], name: str) -> None:
    with crawling(tmp_path) as (_, address):
        host, _, port = address.rpartition(":")
        where = (f"-Durlfrontier.host={host}", f"-Durlfrontier.port={port}")
        command = [*java, *where, "RunOne", TESTS, name]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert run.returncode == 0, run.stdout


# URLFrontier's DumpURLsTest, whose Java needs a client that no registry has. What is dumped is put into another
# crawl, as this one can't be emptied.


def test_what_is_listed_can_be_put_into_another_crawl(tmp_path: Path) -> None:
    later = int(time.time()) + 3600
    items = [
        discovered("http://example.com/discovered", {"source": "seed"}), known("http://example.com/done"),
        known("http://example.com/later", date=later), discovered("http://bespoke.com/", crawl="BESPOKE"),
    ]  # fmt: skip
    with crawling(tmp_path) as (_, address), Client(address) as client:
        assert client.put(*items) == [OK] * 4
        crawls = client("ListCrawls", local=True).values
        assert crawls == ["DEFAULT", "BESPOKE"]
        dump = [item for crawl in crawls for item in client("ListURLs", crawlID=crawl, size=2**31 - 1)]
    assert len(dump) == 4
    assert all(item.HasField("known") for item in dump)
    (tmp_path / "second").mkdir()
    with crawling(tmp_path / "second") as (_, address), Client(address) as client:
        assert client("ListCrawls", local=True).values == []
        assert client.put(*dump) == [OK] * 4
        of = {
            name: client("GetURLStatus", url=f"http://example.com/{name}", crawlID="DEFAULT").known
            for name in ("done", "later", "discovered")
        }
        assert of["done"].refetchable_from_date == 0
        assert of["later"].refetchable_from_date == later
        assert of["discovered"].refetchable_from_date > 0
        assert metadata_of(of["discovered"].info) == {"source": ("seed",)}
        assert client("CountURLs", crawlID="BESPOKE").value == 1


def test_a_crawl_is_listed_queue_by_queue(tmp_path: Path) -> None:
    urls = [f"http://site{number % 10}.com/page{number}" for number in range(20)]
    with crawling(tmp_path) as (_, address), Client(address) as client:
        client.put(*map(discovered, urls), discovered("http://bespoke.com/", crawl="BESPOKE"))
        queues = [
            (crawl, key)
            for crawl in client("ListCrawls", local=True).values
            for start in (0, 4, 8)
            for key in client("ListQueues", crawlID=crawl, include_inactive=True, start=start, size=4).values
        ]
        dump = [item for crawl, key in queues for item in client("ListURLs", crawlID=crawl, key=key, size=1000)]
    assert sorted(item.known.info.url for item in dump) == sorted([*urls, "http://bespoke.com/"])
    assert all(item.known.info.key in item.known.info.url for item in dump)


# what else its clients may do


def refusal(client: Client, name: str, **fields: Any) -> str:
    with pytest.raises(CallError) as raised:
        client(name, **fields)
    return str(raised.value)


def test_every_other_call(tmp_path: Path) -> None:
    with crawling(tmp_path) as (_, address), Client(address) as client:
        urls = [f"http://site{number}.com/page" for number in range(3)]
        batch = [*map(info, urls), info("ftp://site.com/"), info("http://long.com/", {"too": "long" * 2000})]
        (said,) = client.send("PutDiscovered", message("DiscoveredBatch")(ID="one", items=batch))
        assert (said.ID, list(said.statuses)) == ("one", [OK, OK, OK, SKIPPED, SKIPPED])
        assert client("ListNodes").values
        assert client("CountURLs", filter="SITE1", ignoreCase=True).value == 1
        assert client("CountURLs", filter="SITE1").value == 0
        assert [item.known.info.url for item in client("ListURLs", size=1, start=3)] == []
        assert refusal(client, "GetURLStatus", url="http://site0.com/other") == "NOT_FOUND"
        for name in ("PurgeURLs", "SetCrawlLimit"):
            assert refusal(client, name, key="site0.com") == "UNIMPLEMENTED"
        client("SetLogLevel", package="any")
        client("SetDelay", key="site0.com", delay_requestable=2)
        assert refusal(client, "SetDelay", key="no host", delay_requestable=2) == "FAILED_PRECONDITION"
        client("SetActive", state=False)
        assert not client("GetActive").state
        assert client("GetURLs") == []
        client("SetActive", state=True)
        assert client("GetActive").state
        client("BlockQueueUntil", key="site1.com", time=int(time.time()) + 3600)
        found = list(client("GetURLs", anyCrawlID={}, max_queues=1))
        assert len(found) == 1
        found += client("GetURLs", max_urls_per_queue=1)
        assert sorted(each.url for each in found) == [urls[0], urls[2]]
        client("BlockQueueUntil", key="site1.com", time=0)
        assert [each.url for each in client("GetURLs", key="site1.com")] == [urls[1]]
        assert client("GetStats").inProcess == 3
        client("SetCrawlLimit", limit=1)
        assert client("DeleteQueue", key="site2.com").value == 1
        assert client("DeleteCrawl").value == 2
        assert client("GetStats").size == 0
