"""`spherevec serve`: a model over HTTP, with the JSON that the commands print with `--json`."""

from __future__ import annotations

import asyncio
import base64
import hmac
import ipaddress
import json
import logging
import os
import re
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from spherevec._version import __version__
from spherevec.cli.commands.search import find, search
from spherevec.cli.commands.topics import breakdown, topics
from spherevec.cli.display import json_text, tell
from spherevec.cli.options import model_argument, quiet_option
from spherevec.cli.outputs import documents_of, load_model
from spherevec.errors import ConfigError, MissingExtraError, SpherevecError, import_extra
from spherevec.process import usable_cores

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from spherevec.model import Model
    from spherevec.topics.topics import Topics

LARGEST_BODY = 1 << 22  # bytes
MOST_TEXTS = 1000  # of a request
MOST_ANSWERS = 1000  # to a query
MOST_IN_ALL = 10_000  # answers to a request
_SECONDS_TO_FINISH = 5  # what is being answered when the server is stopped
_SECONDS_BETWEEN_LOOKS = 0.5  # at the model on the disk
_HOST = re.compile(r"(\[[^]]*\]|[^:]*)(?::\d*)?")
_DOCUMENTS_OF_TOPICS = 4
_CONTEXT = click.Context(click.Command("serve"))


@click.command()
@model_argument
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", default=8000, show_default=True, help="0 takes a free one."
)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--token", envvar="SPHEREVEC_TOKEN", show_envvar=True, help="What clients must send to be answered.")
@quiet_option
def serve(folder: Path, port: int, host: str, token: str | None, quiet: bool) -> None:
    """Answer searches over HTTP.

    /search?q=TEXT, /topics, /info and POST /infer answer with the JSON that the commands print with --json, / with the
    page of `explore`; /openapi.json describes them. A model that is replaced meanwhile is loaded again. Other machines
    are answered only with --host and --token.
    """
    if token == "" or (token is None and "SPHEREVEC_TOKEN" in os.environ):  # which click takes for unset where empty
        raise click.UsageError("the token is empty; give --token or SPHEREVEC_TOKEN a value, or unset the latter")
    if token is None and not _is_loopback(host):
        raise click.UsageError(f"--host {host} can be reached by other machines; give a --token, or SPHEREVEC_TOKEN")
    uvicorn = import_extra("uvicorn", "serving a model", "serve")
    app = Service(folder, token).app()
    # h11 bounds the length of headers, which a client sends before it shows its token.
    quiet_log: dict[str, Any] = {"log_level": "error", "access_log": False, "server_header": False}
    config = uvicorn.Config(app, host, port, http="h11", timeout_graceful_shutdown=_SECONDS_TO_FINISH, **quiet_log)
    # A client that is still being answered at the end is cut off; that is no defect.
    cut_off = asyncio.CancelledError
    logging.getLogger("uvicorn.error").addFilter(
        lambda one: not (one.exc_info and isinstance(one.exc_info[1], cut_off))
    )
    try:
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Head and body of an answer are two writes: the second must not wait until the client has noticed the first.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.listen(config.backlog)  # who reads the line below may ask at once
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", error)
        raise ConfigError(f"cannot listen at {host}, port {port}: {why}; choose another --port or --host") from None
    if not quiet:
        shown = f"[{host}]" if ":" in host else host
        tell(f"http://{shown}:{listener.getsockname()[1]}: serving {folder}; stop with Ctrl-C")
    with suppress(KeyboardInterrupt):  # raised again by the server once all requests are answered
        uvicorn.Server(config).run(sockets=[listener])


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class Refused(Exception):
    """A request that is answered with a status of 4xx, or 500, and one line."""

    def __init__(self, status_code: int, detail: str) -> None:
        super().__init__(detail)
        self.status_code = status_code
        self.headers = {"WWW-Authenticate": 'Basic realm="spherevec", charset="UTF-8"'} if status_code == 401 else None


class ServedModel:
    """A loaded model, with its topics and its page once somebody asked for them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.stamp = folder, _stamp(folder)
        self.model: Model = load_model(folder, memory_map=False)  # mapped files must not be overwritten in place
        self._lock = RLock()  # what takes long is made once
        self._topics: Topics | None = None
        self._page: str | None = None
        if self.model.docs is not None:
            self.model.docs.prepare_search()
        with suppress(SpherevecError):  # prepares what the first query needs; a model without documents has none
            find(self.model, [str(self.model.words.index_to_key[0])], top=1)

    def topics(self) -> Topics:
        from spherevec.topics import topics_of

        documents_of(self.model, self.folder)
        with self._lock:
            # Kept with the model in memory, where a search among topics finds them.
            self._topics = self._topics or topics_of(self.model).keep()
            return self._topics

    def page(self) -> str:
        from spherevec.explore import page_data
        from spherevec.explore.page import page_html

        with self._lock:
            if self._page is None:
                known = self.topics() if len(self.model.docs or ()) >= _DOCUMENTS_OF_TOPICS else None
                self._page = page_html(page_data(self.model, topics=known))
            return self._page


def _search(served: ServedModel, q: tuple[str, ...], top: int, **options: Any) -> list[dict[str, Any]]:
    if not 1 <= len(q) <= MOST_TEXTS:
        raise Refused(400, f"give the text to search for as q, once to {MOST_TEXTS} times")
    if len(q) * top > MOST_IN_ALL:
        raise Refused(400, f"a request gets at most {MOST_IN_ALL:,} answers, not {len(q)} times {top}; lower top")
    if options["among"] == "topics":
        served.topics()
    return [result.as_dict() for result in find(served.model, list(q), top, **options)]


def _topics(served: ServedModel, fields: tuple[str, ...]) -> dict[str, Any]:
    from spherevec.topics.persistence import describe

    if len(set(fields)) < len(fields):
        raise Refused(400, "by names a field twice; give each once")
    found = served.topics()
    return {**describe(found), "by": [breakdown(found, field).as_dict() for field in fields]}


def _infer(served: ServedModel, texts: list[str]) -> dict[str, Any]:
    return {"documents": len(texts), "vectors": served.model.infer(texts, threads=1).tolist()}


class _Endpoint(NamedTuple):
    """One address: what answers it, and the options of a command that it takes as parameters, by their names."""

    answer: Callable[..., Any]
    summary: str
    parameters: Mapping[str, click.Parameter] = {}
    of_topics: bool = False  # the first answer takes as long as finding topics


_query = click.Option(["--q"], multiple=True, required=True, help="What to search for.")
_top = click.Option(["--top"], type=click.IntRange(1, MOST_ANSWERS), default=10, help="How many answers.")
_named = {one.opts[0].lstrip("-"): one for one in (*topics.params, *search.params, _query, _top)}
_SEARCH = {name: _named[name] for name in ("q", "top", "where", "among", "mode", "subwords", "explain")}
ENDPOINTS = {
    "/": _Endpoint(ServedModel.page, "The map of the model as a page.", of_topics=True),
    "/search": _Endpoint(_search, "Find documents, words or topics.", _SEARCH),
    "/topics": _Endpoint(_topics, "The topics of the documents.", {"by": _named["by"]}, of_topics=True),
    "/info": _Endpoint(lambda served: served.model.describe(), "What the model holds and how it was trained."),
    "/openapi.json": _Endpoint(lambda served: openapi(), "This description."),
}
_AS_OPTION = re.compile(f"--({'|'.join([*_SEARCH, 'by'])})\\b")  # how messages of the commands name a parameter


class Service:
    """Answers requests from the newest model in a folder."""

    def __init__(self, folder: Path, token: str | None = None) -> None:
        self._folder, self._token = folder, token
        self._served = ServedModel(folder)
        self._looked, self._loading, self._fault = time.monotonic(), False, ""
        # Threads that search at the same time wait for each other's Python code: one alone answers more, and sooner.
        self._searches, self._others = ThreadPoolExecutor(1), ThreadPoolExecutor(max(2, usable_cores()))
        self._topics = ThreadPoolExecutor(1)  # the first who asks waits long, and nobody else for him

    def app(self) -> Starlette:
        """The application for an ASGI server."""
        try:
            from starlette.applications import Starlette
            from starlette.exceptions import HTTPException
            from starlette.requests import ClientDisconnect
            from starlette.routing import Route
        except ImportError:
            raise MissingExtraError("serving a model", "serve") from None

        async def refused(request: Request, error: Any) -> Response:
            line = error.format_message() if isinstance(error, click.UsageError) else " ".join(str(error).split())
            status, path = getattr(error, "status_code", 400), request.scope["path"]
            if isinstance(error, HTTPException):
                line = f"nothing at {path!r:.60}; there are {', '.join([*ENDPOINTS, '/infer'])}"
                if status == 405:
                    line = f"{path} does not take {request.method}; use {'GET' if path in ENDPOINTS else 'POST'}"
            return _response({"error": _AS_OPTION.sub(r"\1", line)}, status, getattr(error, "headers", None))

        def guarded(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
            """A defect is one line as well; Starlette would print a traceback."""

            async def answered(request: Request) -> Response:
                try:
                    return await answer(request)
                except kinds:
                    raise
                except Exception as error:
                    cause = f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
                    tell(line := f"a defect, please report it: {request.scope['path']}: {cause}")
                    raise Refused(500, line) from None

            return answered

        routes = [Route(path, guarded(self._get)) for path in ENDPOINTS]
        routes.append(Route("/infer", guarded(self._post), methods=["POST"]))
        kinds = (HTTPException, ClientDisconnect, Refused, click.UsageError, SpherevecError)
        return Starlette(routes=routes, exception_handlers=dict.fromkeys(kinds, refused))

    def _check_access(self, request: Request) -> None:
        """The token, as a bearer token or as the password that a browser asks for; without one, only this machine."""
        if self._token is None:
            # A page of another site that points its own name at this machine must not read the documents.
            named = _HOST.fullmatch(request.headers.get("host", "").lower())
            if named is None or not _is_loopback(named[1].strip("[]")):
                raise Refused(403, "without --token, requests must name localhost")
            return
        kind, _, sent = request.headers.get("authorization", "").partition(" ")
        given = sent.encode("latin-1")  # as headers are decoded
        if kind.lower() == "basic":
            with suppress(ValueError):
                given = base64.b64decode(given).partition(b":")[2]
        if not hmac.compare_digest(given, self._token.encode()):
            raise Refused(401, "the token is missing or wrong; send it as Authorization: Bearer TOKEN")

    async def _get(self, request: Request) -> Response:
        self._check_access(request)
        endpoint = ENDPOINTS[request.scope["path"]]
        given = _parsed(endpoint, request)
        pool = self._searches if len(given.get("q", ())) == 1 else self._others
        if endpoint.of_topics or given.get("among") == "topics":
            pool = self._topics
        return _response(await self._work(pool, partial(endpoint.answer, **given)))

    async def _post(self, request: Request) -> Response:
        self._check_access(request)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                raise Refused(413, f"a request holds at most {LARGEST_BODY:,} bytes; send fewer texts")
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            raise Refused(400, 'the body must be JSON: {"texts": ["…", "…"]}') from None
        if not isinstance(given, dict) or "texts" not in given:
            raise Refused(400, 'the body has no key "texts"; send {"texts": ["…", "…"]}')
        texts = given["texts"]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise Refused(400, '"texts" must be a list of texts: {"texts": ["…", "…"]}')
        if not 1 <= len(texts) <= MOST_TEXTS:
            raise Refused(400, f"texts holds 1 to {MOST_TEXTS} texts, not {len(texts)}")
        return _response(await self._work(self._others, _infer, texts))

    async def _work(self, pool: ThreadPoolExecutor, answer: Callable[..., Any], *arguments: Any) -> Any:
        """What `answer` says of the current model, in a thread of the pool."""
        loop = asyncio.get_running_loop()
        if not self._loading and time.monotonic() > self._looked + _SECONDS_BETWEEN_LOOKS:
            self._looked = time.monotonic()
            if _stamp(self._folder) not in (self._served.stamp, None):
                self._loading = True
                loop.run_in_executor(None, self._reload)
        # A request keeps the model that it began with, also when another one takes its place.
        return await loop.run_in_executor(pool, answer, self._served, *arguments)

    def _reload(self) -> None:
        try:
            self._served, self._fault = ServedModel(self._folder), ""
            tell(f"{self._folder}: loaded again")
        except (SpherevecError, OSError) as error:
            if str(error) != self._fault:  # it is tried again and again, since it may not be complete yet
                tell(f"{self._folder}: cannot be loaded, the model before stays: {error}")
            self._fault = str(error)
        finally:
            self._loading = False


def openapi() -> dict[str, Any]:
    """The OpenAPI description of the service."""
    fault = {"description": "What is wrong, in one line.", "content": _content({"error": {"type": "string"}})}
    responses = {"200": {"description": "As the command prints it with --json."}, "4XX": fault}
    paths: dict[str, Any] = {}
    for path, endpoint in ENDPOINTS.items():
        parameters = [
            {
                "name": name,
                "in": "query",
                "required": option.required,
                "description": getattr(option, "help", ""),
                "schema": _schema(option),
            }
            for name, option in endpoint.parameters.items()
        ]
        paths[path] = {"get": {"summary": endpoint.summary, "parameters": parameters, "responses": responses}}
    texts = {"texts": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_TEXTS}}
    about = {"summary": "Vectors of new texts.", "requestBody": {"required": True, "content": _content(texts)}}
    paths["/infer"] = {"post": {**about, "responses": responses}}
    paths["/"]["get"]["responses"] = {"200": {"description": "HTML"}, "4XX": fault}
    return {"openapi": "3.1.0", "info": {"title": "spherevec", "version": __version__}, "paths": paths}


def _content(properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"application/json": {"schema": schema}}


def _schema(option: click.Parameter) -> dict[str, Any]:
    names = {click.IntRange: "integer", type(click.BOOL): "boolean"}
    schema: dict[str, Any] = {"type": names.get(type(option.type), "string")}
    if isinstance(option.type, click.Choice):
        schema["enum"] = list(option.type.choices)
    if isinstance(option.type, click.IntRange):
        schema |= {"minimum": option.type.min, "maximum": option.type.max}
    if option.multiple and option.required:
        return {"type": "array", "items": {**schema, "minLength": 1}, "minItems": 1, "maxItems": MOST_TEXTS}
    if option.multiple:
        return {"type": "array", "items": schema}
    return {**schema, "default": _default(option)}


@cache
def _default(option: click.Parameter) -> Any:
    return option.get_default(_CONTEXT)


def _parsed(endpoint: _Endpoint, request: Request) -> dict[str, Any]:
    """The parameters of a request, read as the command reads its options."""
    known, given = endpoint.parameters, request.query_params
    for name in given:
        if name not in known:
            raise Refused(400, f"no parameter {name!r:.60} here; choose from {', '.join(known) or 'none'}")
    values: dict[str, Any] = {}
    for name, option in known.items():
        found = given.getlist(name)
        if len(found) > 1 and not option.multiple:
            raise Refused(400, f"{name} is given {len(found)} times; give it once")
        value = found if option.multiple else found[0] if found else _default(option)
        try:
            values[str(option.name)] = option.type_cast_value(_CONTEXT, value)
        except click.BadParameter:
            wanted = _schema(option)
            kinds = {"integer": f"a whole number from 1 to {MOST_ANSWERS}", "boolean": "true or false"}
            kind = kinds.get(wanted["type"]) or f"one of {', '.join(wanted['enum'])}"
            raise Refused(400, f"{name} must be {kind}, not {value!r:.60}") from None
    return values


def _response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A page, or JSON."""
    from starlette.responses import HTMLResponse, Response

    if isinstance(value, str):
        return HTMLResponse(value)
    return Response(f"{json_text(value)}\n", status, headers, "application/json")


def _stamp(folder: Path) -> tuple[int, ...] | None:
    """What changes when the model in a folder is replaced; None while there is none."""
    from spherevec.model.parts import MANIFEST

    try:
        found = (folder / MANIFEST).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
