"""The window as a server: who gets in, what is refused, what it sends, and who asks too slowly or too much."""

import asyncio
import json
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from scentline.agents.window.command import MOST_CONNECTIONS, Connection
from scentline.agents.window.screens import SCREENS
from scentline.agents.window.server import MOST_VIEWERS
from tests.agents.commands import ROOT, TOLD_TO_END, complaint, printed, running
from tests.cases import each_case
from tests.patience import PATIENCE, wait_for
from tests.window.windows import base_of, entered, printed_address, started

PREDICATE = 'sports=category("Sports")'
STATIC = ROOT / "agents" / "window" / "static"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a crawl at rest."""
    directory = tmp_path_factory.mktemp("crawl")
    printed(directory, "synthetic", "--out", "web", "--sites", "2", "--pages", "20", "--users", "3")
    options = ("--archive", "web/pages.warc.gz", "--labels", "web/topics.tsv.gz", "--log", "web/access.log.gz")
    printed(directory, "crawl", *options, "--predicate", PREDICATE, "--data", "data", "--budget", "15")
    return directory / "data"


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    with printed_address(data) as url:
        yield url


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=base_of(address), timeout=PATIENCE) as client:
        client.get(address).raise_for_status()
        yield client


def origin(client: httpx.Client) -> dict[str, str]:
    return {"Origin": str(client.base_url).rstrip("/")}


# who gets in


def test_nobody_gets_in_without_the_token(address: str) -> None:
    base = base_of(address)
    for path in ("/", "/api/now", "/events/now", "/static/main.js", "/nothing"):
        for cookies in ({}, {"scentline": "wrong"}):
            answer = httpx.get(base + path, cookies=cookies)
            assert answer.status_code == 401, path
    assert httpx.get(f"{base}/enter?token=wrong").status_code == 401
    form = httpx.get(base, headers={"Accept": "text/html"})
    assert (form.status_code, '<input type="password" name="token"' in form.text) == (401, True)
    assert httpx.get(f"{base}/healthz").text == "ok\n"


@each_case("host", ["evil.example", "evil.example:8420", "127.0.0.1", "localhost.evil.example", ""])
def test_a_name_that_was_made_to_point_here_gets_nothing(client: httpx.Client, host: str) -> None:
    assert client.get("/api/now", headers={"Host": host}).status_code == 421


def test_other_sites_get_and_change_nothing(client: httpx.Client) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    assert client.get("/api/now", headers=foreign).status_code == 403
    body = b'{"what": "seeds", "urls": []}'
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}, origin(client) | foreign):
        assert client.post("/steer", content=body, headers=headers).status_code == 403
    assert client.post("/steer", content=body, headers=origin(client)).status_code == 200


def test_every_answer_forbids_foreign_script_and_frames(client: httpx.Client, address: str) -> None:
    for path in ("/", "/api/now", "/static/style.css", "/nothing", "/healthz"):
        for answer in (client.get(path), httpx.get(base_of(address) + path)):
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_cookie_is_hidden_from_script_and_those_of_others_keep_nobody_out(
    client: httpx.Client, address: str
) -> None:
    cookie = httpx.get(address).headers["set-cookie"].lower()
    assert ("httponly" in cookie, "samesite=strict" in cookie) == (True, True)
    (name, token), *_ = client.cookies.items()
    for others in ('cfg={"a": 1}', "word=\u00e9", "path=/", "nothing", "a[b=1", f"{name}=wrong", ";"):
        for cookies in (f"{others}; {name}={token}", f"{name}={token}; {others}"):
            sent = {b"Cookie": cookies.encode()}
            assert httpx.get(f"{base_of(address)}/api/crawl", headers=sent).status_code == 200, cookies


# requests


def test_what_is_unknown_or_too_long_is_refused_and_only_the_windows_own_files_are_served(
    client: httpx.Client,
) -> None:
    missing, wrong = client.get("/api/<b>x"), client.get("/api/now?colour=red")
    assert (missing.status_code, wrong.status_code, "colour" in wrong.text) == (404, 400, True)
    assert all(name in missing.text for name in SCREENS)
    for path in ("../command.py", "%2e%2e/command.py", "..%2fcommand.py", "/etc/passwd"):
        assert client.get(f"/static/{path}").status_code == 404
    assert client.get("/api/now?" + "a" * 9_000).status_code == 414
    assert client.post("/steer", content=b" " * 4_100_000, headers=origin(client)).status_code == 413


@each_case(
    ("body", "word"),
    [
        (b"{", "no request"),
        (b'{"what": "reboot"}', "no request"),
        (b'{"what":' * 100_000, "no request"),
        (b'{"what": "predicate", "name": "sports", "state": "lost"}', "state"),
        (b'{"what": "seeds", "urls": ["ftp://x/"]}', "canonical"),
        (b'{"what": "predicate", "name": "curling", "state": "paused"}', "curling"),
    ],
)
def test_a_request_that_can_not_be_read_or_carried_out_says_why(
    client: httpx.Client, body: bytes, word: str
) -> None:
    answer = client.post("/steer", content=body, headers=origin(client))
    assert (answer.status_code, word in answer.text) == (400, True)


def test_a_view_comes_again_when_it_changes(client: httpx.Client, data: Path) -> None:
    with client.stream("GET", "/events/now") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(lines) == "event: crawl"
        crawl = json.loads(next(lines).removeprefix("data: "))
        assert (crawl["data"], crawl["running"]) == ("data", False)
        assert [each["state"] for each in crawl["predicates"]] == ["active"]
        printed(data.parent, "predicate", "pause", "sports", "--data", "data")
        states = (line.removeprefix("data: ") for line in lines if line.startswith('data: {"data"'))
        assert [each["state"] for each in json.loads(next(states))["predicates"]] == ["paused"]


def test_what_can_not_be_read_is_told_and_read_again_when_it_can(data: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(data, damaged)
    manifest = next((damaged / "journal").glob("MANIFEST-*"))
    whole = manifest.read_bytes()
    with entered(damaged) as client, client.stream("GET", "/events/now") as stream:
        lines = stream.iter_lines()
        next(line for line in lines if line.startswith('data: {"data"'))
        manifest.write_bytes(b"x" * len(whole))
        (damaged / "journal" / "CURRENT").touch()
        assert "event: trouble" in lines
        assert "can't be read" in next(lines)
        answer = client.get("/api/now")
        assert (answer.status_code, answer.text.split(":")[0]) == (503, "The crawl can't be read")
        manifest.write_bytes(whole)
        assert "event: view" in lines
        assert client.get("/api/now").status_code == 200


# the process


def test_the_token_stays_the_same_for_a_directory_and_is_its_owners_alone(data: Path, address: str) -> None:
    path = data / "window" / "token"
    assert path.stat().st_mode & 0o077 == 0
    assert path.read_text() == address.partition("token=")[2]
    with printed_address(data) as other:
        assert other.partition("?")[2] == address.partition("?")[2]


def test_a_token_that_was_set_is_not_printed_and_a_read_only_window_takes_no_request(data: Path) -> None:
    token = 'a "token"; that was set=\u00e9'
    with (
        printed_address(data, "--read-only", SCENTLINE_WINDOW__TOKEN=token) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as client,
    ):
        assert "token" not in url
        assert client.get("/enter", params={"token": token}).status_code == 200
        assert client.get("/api/crawl").json()["read_only"]
        answer = client.post("/steer", content=b'{"what": "seeds", "urls": []}', headers=origin(client))
        assert answer.status_code == 403


def test_a_taken_port_is_an_error_where_it_was_named(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"window.port {port}" in complaint(data.parent, "window", "--data", "data", "--port", str(port))


@TOLD_TO_END
def test_a_window_ends_at_once_with_viewers(data: Path, program: tuple[str, ...], number: int) -> None:
    with started(data, program=program) as (process, url):
        with httpx.Client(base_url=base_of(url), timeout=PATIENCE) as client:
            client.get(url)
            with client.stream("GET", "/events/now") as stream:
                next(stream.iter_lines())
                process.send_signal(number)
                assert process.wait(PATIENCE) == 0
        _, said = process.communicate()
    assert "Traceback" not in said
    assert url.partition("token=")[2] not in said


def test_the_window_of_a_crawl_says_how_it_ended_and_goes_with_it(data: Path, tmp_path: Path) -> None:
    web = data.parent / "web" / "pages.warc.gz"
    with running(
        tmp_path, "crawl", "--archive", str(web), "--predicate", 'tea="tea"', "--seed", "http://never.invalid/",
        "--keep-up", "--window", "--set", "window.port=0",
    ) as process:  # fmt: skip
        assert process.stderr is not None
        url = next(line for line in process.stderr if line.startswith("The window: ")).split()[-1]
        with httpx.Client(base_url=base_of(url), timeout=PATIENCE) as client:
            client.get(url)
            wait_for("the crawl", lambda: client.get("/api/now").json().get("running"))
            with client.stream("GET", "/events/now") as stream:
                lines = stream.iter_lines()
                next(lines)
                assert process.poll() is None, "a crawl that keeps up ends only when it is killed"
                process.kill()
                process.wait()
                *_, event, last, _ = lines
            assert (event, "abruptly" in last) == ("event: ended", True)
            wait_for("the window's end", lambda: not _answers(client))


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


# clients that ask too slowly, for too much, or for what there is not: nobody else waits


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with entered(tmp_path_factory.mktemp("none") / "data") as idle:
        yield idle


def test_a_window_waits_for_a_crawl_that_has_not_begun(idle: httpx.Client) -> None:
    assert [idle.get(f"/api/{name}").json()["begun"] for name in SCREENS if name != "page"] == [False] * 9


def test_so_many_viewers_may_look_and_one_who_leaves_makes_room(idle: httpx.Client) -> None:
    with ExitStack() as looking:
        streams = [looking.enter_context(idle.stream("GET", "/events/now")) for _ in range(MOST_VIEWERS)]
        lines = [stream.iter_lines() for stream in streams]
        assert [next(each) for each in lines] == ["event: crawl"] * MOST_VIEWERS
        assert idle.get("/events/now").status_code == 503
        assert idle.get("/api/now").status_code == 200
    # That they are gone shows at their next event.
    while True:
        with idle.stream("GET", "/events/now") as stream:
            if stream.status_code == 200:
                break


def test_headers_of_any_size_are_bounded(idle: httpx.Client) -> None:
    address = idle.base_url
    # What it does not take in is answered by the end of the connection.
    with socket.create_connection((address.host, address.port or 80)) as connection, suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Filler: " + b"a" * 200_000)
        assert connection.recv(4096).startswith(b"HTTP/1.1 400 ")
    assert idle.get("/healthz").text == "ok\n"


@given(
    st.binary(max_size=60),
    st.sampled_from(["/static/", "/api/", "/events/", "/", "/enter?token=", "/api/now?"]),
)
def test_no_address_is_an_error_of_the_window(idle: httpx.Client, rest: bytes, at: str) -> None:
    address = at + "".join(f"%{byte:02x}" for byte in rest)
    with idle.stream("GET", address) as answer:
        assert answer.status_code in (200, 307, 400, 401, 404, 405)


def test_strangers_who_hold_connections_keep_nobody_out(idle: httpx.Client) -> None:
    address = idle.base_url.host, idle.base_url.port or 80
    head = b"POST /steer HTTP/1.1\r\nHost: x\r\n"
    with ExitStack() as held, idle.stream("GET", "/events/now") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: crawl"
        for half in (b"", head, head + b"Content-Length: 9\r\n\r\nabc") * MOST_CONNECTIONS:
            stranger = held.enter_context(socket.create_connection(address))
            with suppress(ConnectionError):
                stranger.sendall(half)
        with httpx.Client(base_url=idle.base_url, cookies=idle.cookies, timeout=PATIENCE) as owner:
            assert owner.get("/api/now").json()["begun"] is False
        assert [next(lines) for _ in range(4)][2] == "event: view", "the viewer still looks"


class _Hasty(Connection):
    seconds = 0.05


async def _slow_answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Take in a body, and answer in pieces for longer than a request may take."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(10):
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await asyncio.sleep(0.05)
    await send({"type": "http.response.body", "body": b"end"})


async def _said(asked: bytes) -> bytes:
    """Return all that a server says to a client that says no more than ``asked``."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(_slow_answer, http=_Hasty, log_config=None, lifespan="off", ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve([listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(asked)
        found = await reader.read()
        writer.close()
        server.should_exit = True
        await serving
        return found


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"


@each_case("asked", [b"", HEAD[:8], HEAD, b"POST" + HEAD[3:] + b"Content-Length: 9\r\n\r\nabc"])
def test_who_does_not_come_to_an_end_is_let_go(asked: bytes) -> None:
    assert asyncio.run(_said(asked)) == b""


def test_who_has_asked_gets_the_whole_answer_however_long_it_takes() -> None:
    assert asyncio.run(_said(HEAD + b"\r\n")).endswith(b"end\r\n0\r\n\r\n")


# what was made by others


def test_the_plotting_library_is_the_one_that_was_released() -> None:
    """The hashes of uPlot 1.6.32 as the npm registry has it."""
    known = {
        "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
        "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    }
    assert {name: sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() for name in known} == known
    assert "MIT License" in (STATIC / "vendor" / "uPlot.LICENSE").read_text()


def test_no_page_is_made_of_markup() -> None:
    words = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")
    own = [path for path in STATIC.rglob("*.js") if path.parent.name != "vendor"]
    assert [(path.name, word) for path in own for word in words if word in path.read_text()] == []
