"""The real server, asked by a real client."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import spherevec
from spherevec.cli import main
from spherevec.cli.commands.serve import LARGEST_BODY, MOST_ANSWERS, Service
from warm import run_command

pytest.importorskip("uvicorn")

# Machines under load answer late.
get, post = partial(httpx.get, timeout=900), partial(httpx.post, timeout=900)

WORDS = {"pets": "cat dog fur paw tail", "cars": "road wheel engine brake fuel"}


def texts(extra: str = "") -> list[str]:
    names = list(WORDS.values())
    return [f"{extra} {' '.join(names[i % 2].split()[i % 3 :])} w{i % 7}" for i in range(60)]


def train(folder: Path, extra: str = "") -> None:
    rows = [{"text": text, "kind": list(WORDS)[i % 2]} for i, text in enumerate(texts(extra))]
    settings: dict[str, Any] = {
        "vector_size": 8,
        "min_count": 1,
        "epochs": 5,
        "threads": 1,
        "text_field": "text",
        "keep": ["kind"],
    }
    spherevec.train(rows, progress=False, **settings).save(folder, overwrite=True)


@contextmanager
def serving(folder: Path, *options: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "spherevec", "serve", str(folder), "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment or None) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r":(\d+): serving", line)
        assert found is not None, line + process.stderr.read()
        try:
            yield f"http://127.0.0.1:{found[1]}", process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve") / "model"
    train(folder)
    return folder


@pytest.fixture(scope="module")
def service(model: Path) -> Iterator[str]:
    with serving(model) as (address, _):
        yield address


def test_answers_are_those_of_the_commands(service: str, model: Path) -> None:
    options: dict[str, Any] = {"q": "engine wheel", "top": 3, "where": "kind=cars", "explain": "true"}
    printed = run_command(
        "search", model, "engine wheel", "--top", "3", "--where", "kind=cars", "--explain", "--json"
    ).stdout
    assert get(f"{service}/search", params=options).text == printed
    several = get(f"{service}/search", params={"q": ["fur", "fuel"], "among": "words"}).json()
    assert [one["query"] for one in several] == ["fur", "fuel"]
    assert (
        get(f"{service}/topics", params={"by": "kind"}).text
        == run_command("topics", model, "--by", "kind", "--json", "--quiet").stdout
    )
    assert get(f"{service}/info").text == run_command("info", model, "--json").stdout


def test_new_texts_get_the_vectors_of_the_model(service: str, model: Path) -> None:
    asked = ["engine and brake", "a cat"]
    answer = post(f"{service}/infer", json={"texts": asked}).json()
    assert answer == {"documents": 2, "vectors": spherevec.load(model).infer(asked).tolist()}


def test_the_page_and_the_description(service: str) -> None:
    page = get(service)
    assert page.headers["content-type"].startswith("text/html") and "<title>A map of 60 documents" in page.text
    described = get(f"{service}/openapi.json").json()
    assert set(described["paths"]) == {"/", "/search", "/topics", "/info", "/infer", "/openapi.json"}
    names = [one["name"] for one in described["paths"]["/search"]["get"]["parameters"]]
    assert names == ["q", "top", "where", "among", "mode", "subwords", "explain"]
    defaults = {one["name"]: one["schema"].get("default") for one in described["paths"]["/search"]["get"]["parameters"]}
    assert defaults["top"] == 10 and defaults["subwords"] is True and defaults["explain"] is False  # as the command
    q, top = (described["paths"]["/search"]["get"]["parameters"][place]["schema"] for place in (0, 1))
    assert (q["minItems"], q["items"]["minLength"], top["minimum"], top["maximum"]) == (1, 1, 1, MOST_ANSWERS)


def test_topics_are_found_once_and_hold_up_no_search(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, searched = [], threading.Event()
    module = importlib.import_module("spherevec.topics.find")
    find_topics = module.find_topics

    def slowly(*given: Any, **options: Any) -> Any:
        found.append(searched.wait())
        return find_topics(*given, **options)

    monkeypatch.setattr(module, "find_topics", slowly)

    async def ask() -> list[int]:
        transport = httpx.ASGITransport(app=Service(model).app())
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            slow = ["/topics", "/", "/search?q=cat&among=topics", "/search?q=dog&among=topics"]
            later = [asyncio.create_task(client.get(path)) for path in slow]
            quick = [await client.get(path) for path in ("/search?q=cat", "/info", "/search?q=cat&q=dog")]
            quick.append(await client.post("/infer", json={"texts": ["a cat"]}))
            searched.set()
            return [answer.status_code for answer in (*quick, *await asyncio.gather(*later))]

    assert asyncio.run(ask()) == [200] * 8
    assert found == [True]  # once, and not before the searches were answered


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/search", 400, "give the text to search for as q"),
        ("/search?q=cat&top=many", 400, "top must be a whole number from 1 to 1000, not 'many'"),
        ("/search?q=cat&top=" + "9" * 5000, 400, "top must be a whole number from 1 to 1000, not '999"),
        (f"/search?q=cat&top={MOST_ANSWERS + 1}", 400, f"not '{MOST_ANSWERS + 1}'"),
        (
            "/search?q=cat&q=dog&q=fur&q=paw&q=tail&q=road&q=wheel&q=engine&q=brake&q=fuel&q=w1&top=1000",
            400,
            "lower top",
        ),
        ("/search?q=cat&top=1&top=2", 400, "top is given 2 times"),
        ("/search?q=cat&limit=2", 400, "no parameter 'limit' here; choose from q, top"),
        ("/search?q=cat&mode=fuzzy", 400, "mode must be one of hybrid, dense, lexical, not 'fuzzy'"),
        ("/search?q=cat&explain=perhaps", 400, "explain must be true or false, not 'perhaps'"),
        ("/search?q=cat&where=kind", 400, "where 'kind' is not a condition"),
        ("/search?q=cat&where=colour=red", 400, "colour"),
        ("/search?q=unheardof&subwords=false", 400, "no word of 'unheardof' is known"),
        ("/search?" + "&".join(["q=cat"] * 1001), 400, "1000 times"),
        ("/topics?by=colour", 400, "colour"),
        ("/topics?by=kind&by=kind", 400, "by names a field twice"),
        ("/topics?by=kind:decade", 400, "by kind:decade: the unit of time is one of year"),
        ("/infer", 405, "/infer does not take GET; use POST"),
        ("/nothing", 404, "nothing at '/nothing'; there are /, /search"),
    ],
)
def test_a_bad_request_is_told_in_one_line(service: str, path: str, status: int, message: str) -> None:
    answer = get(service + path)
    assert answer.status_code == status
    line = answer.json()["error"]
    assert message in line and "\n" not in line and "--" not in line and len(line) < 200


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "must be JSON"),
        (b"[]", 400, 'no key "texts"'),
        (b'{"text": ["cat"]}', 400, 'no key "texts"'),
        (b'{"texts": "cat"}', 400, "must be a list"),
        (b'{"texts": []}', 400, "1 to 1000"),
        (b'{"texts": [1]}', 400, "must be a list"),
        (b'{"texts": ["\xff"]}', 400, "must be JSON"),
        (b"[" * 100_000, 400, "must be JSON"),
        (json.dumps({"texts": ["cat"] * 1001}).encode(), 400, "not 1001"),
        (b'{"texts": ["' + b"x" * LARGEST_BODY, 413, "send fewer texts"),
    ],
)
def test_a_bad_body_is_refused(service: str, body: bytes, status: int, message: str) -> None:
    answer = post(f"{service}/infer", content=body)
    assert answer.status_code == status and set(answer.json()) == {"error"} and message in answer.json()["error"]


@pytest.mark.parametrize(
    "name", ["pages.example", "localhost.example", "m\xfcller.example", "a b", "x@localhost", "[::1", ""]
)
def test_another_name_for_this_machine_is_refused(service: str, name: str) -> None:
    answer = get(f"{service}/info", headers={b"Host": name.encode("latin-1")})
    assert answer.status_code == 403 and "localhost" in answer.json()["error"]


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:80", "127.0.0.2:8000", "[::1]:8000"])
def test_names_of_this_machine_are_answered(service: str, name: str) -> None:
    assert get(f"{service}/info", headers={"Host": name}).status_code == 200


def test_a_client_that_leaves_is_not_reported(model: Path) -> None:
    with serving(model) as (address, process):
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")
            assert get(f"{address}/info").status_code == 200  # the head above was read before this one
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=900) == 0
        assert process.stderr is not None and process.stderr.read() == ""


def test_a_token_is_asked_for(model: Path) -> None:
    with serving(model, "--token", "geheim-ü") as (address, _):
        for headers in ({}, {"Authorization": "Bearer geheim"}, {"Authorization": "Basic !"}):
            for path in ("/search?q=cat", "/", "/topics", "/info", "/openapi.json"):
                assert get(address + path, headers=headers).status_code == 401
        assert post(f"{address}/infer", json={"texts": ["cat"]}).status_code == 401
        bearer = {b"Authorization": "Bearer geheim-ü".encode(), b"Host": b"pages.example"}
        assert get(f"{address}/search?q=cat", headers=bearer).status_code == 200
        assert get(f"{address}/info", auth=("anyone", "geheim-ü")).status_code == 200


def test_other_machines_need_a_token(model: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        done = run_command("serve", model, "--host", host)
        assert done.returncode == 2 and "give a --token" in done.stderr


def test_an_empty_token_is_refused(
    service: str, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = ["serve", str(model), "--port", service.rpartition(":")[2]]
    assert main([*taken, "--token", ""]) == 2
    monkeypatch.setenv("SPHEREVEC_TOKEN", "")
    assert main(taken) == 2
    assert capsys.readouterr().err.count("the token is empty") == 2


def test_a_defect_is_told_in_one_line(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: Any) -> None:
        raise RecursionError("too\ndeep")

    monkeypatch.setattr(spherevec.Model, "describe", broken)

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=Service(model).app())
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/info")

    answer, line = asyncio.run(ask()), "a defect, please report it: /info: RecursionError: too deep"
    assert (answer.status_code, answer.json(), capsys.readouterr().err) == (500, {"error": line}, f"{line}\n")


def test_a_port_that_is_taken(service: str, model: Path) -> None:
    done = run_command("serve", model, "--port", service.rpartition(":")[2])
    assert done.returncode == 2 and "Address already in use; choose another --port" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_replaced_model_is_picked_up_without_a_dropped_request(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    train(folder)
    with serving(folder) as (address, _), httpx.Client(timeout=900) as client:
        stop, faults, answered = threading.Event(), [], []

        def ask() -> None:
            with httpx.Client(timeout=900) as own:
                while not stop.is_set():
                    answer = own.get(f"{address}/search?q=engine")
                    answered.append(answer.status_code)
                    if answer.status_code != 200:
                        faults.append(answer.text)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for round_ in ("moon", "star"):
                assert client.get(f"{address}/search?q={round_}&among=words&subwords=false").status_code == 400
                train(folder, extra=round_)
                deadline = time.monotonic() + 900
                while client.get(f"{address}/search?q={round_}&among=words&subwords=false").status_code != 200:
                    assert time.monotonic() < deadline, "the new model was not picked up"
                    time.sleep(0.1)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not faults and len(answered) > 10


def test_a_model_that_is_overwritten_in_place_stays_in_use_until_it_is_whole(tmp_path: Path) -> None:
    folder, other = tmp_path / "model", tmp_path / "other"
    train(folder)
    train(other, extra="moon")
    with serving(folder) as (address, process):
        asked = [f"{address}/search?q=engine", f"{address}/search?q=cat&among=words", f"{address}/info"]
        before = [get(one).text for one in asked]
        for file in folder.iterdir():
            file.write_bytes(b"")
        for _ in range(3):
            time.sleep(0.6)  # the server looks at the folder twice a second
            assert [get(one).text for one in asked] == before
        shutil.copytree(other, folder, dirs_exist_ok=True)
        deadline = time.monotonic() + 900
        while get(f"{address}/search?q=moon&among=words&subwords=false").status_code != 200:
            assert time.monotonic() < deadline, "the new model was not picked up"
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        told = process.stderr.read().splitlines()
        assert len(told) == len(set(told)) and "loaded again" in told[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_closes_when_asked_to(model: Path, number: signal.Signals) -> None:
    with serving(model) as (address, process):
        assert get(f"{address}/search?q=cat").status_code == 200
        process.send_signal(number)
        assert process.wait(timeout=900) == 0
        assert process.stderr is not None and process.stderr.read() == ""


def test_clients_that_never_finish_neither_stop_others_nor_keep_it_from_closing(model: Path) -> None:
    beginnings = [
        b"",
        b"GET /info HTTP/1.1\r\nHost: loc",
        b"POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200,  # and never reads the answers
    ]
    with serving(model) as (address, process), ExitStack() as stack:
        host, port = address.removeprefix("http://").split(":")
        for beginning in beginnings:
            stack.enter_context(socket.create_connection((host, int(port)))).sendall(beginning)
        assert get(f"{address}/search?q=cat").status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=900) == 0
        assert process.stderr is not None and "Traceback" not in process.stderr.read()


def test_headers_are_bounded(service: str) -> None:
    with suppress(httpx.TransportError):  # the connection may be closed before all is sent
        assert get(f"{service}/info", headers={"X-Long": "a" * 1_000_000}).status_code == 400
    assert get(f"{service}/info").status_code == 200
