"""A model over HTTP: search, vectors of new texts, topics and the page, with the JSON that `--json` prints."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from spherevec._version import __version__
from spherevec.cli.checks import documents_of, load_model
from spherevec.cli.commands.search import find, search
from spherevec.cli.commands.topics import breakdown, topics
from spherevec.cli.display import json_text, tell
from spherevec.errors import MissingExtraError, SpherevecError
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
_SECONDS_BETWEEN_LOOKS = 0.5  # at the model on the disk
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_DOCUMENTS_OF_TOPICS = 4


class Refused(Exception):
    """A request that is answered with a status of 4xx and one line."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ServedModel:
    """A loaded model, with its topics and its page once somebody asked for them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.stamp = folder, _stamp(folder)
        self.model: Model = load_model(folder)
        self._lock = RLock()  # what takes long is made once
        if self.model.docs is not None:
            self.model.docs.prepare_search()
        with suppress(SpherevecError):  # prepares what the first query needs; a model without documents has none
            find(self.model, [str(self.model.words.index_to_key[0])], top=1)

    @cached_property
    def _topics(self) -> Topics:
        from spherevec.topics import topics_of

        return topics_of(self.model)

    def topics(self) -> Topics:
        documents_of(self.model, self.folder)
        with self._lock:
            return self._topics

    @cached_property
    def _page(self) -> str:
        from spherevec.explore import page_data
        from spherevec.explore.page import page_html

        known = self.topics() if len(self.model.docs or ()) >= _DOCUMENTS_OF_TOPICS else None
        return page_html(page_data(self.model, topics=known))

    def page(self) -> str:
        with self._lock:
            return self._page


def _search(served: ServedModel, q: list[str], top: int, **options: Any) -> list[dict[str, Any]]:
    if not 1 <= len(q) <= MOST_TEXTS:
        raise Refused(400, f"give the text to search for as q, once to {MOST_TEXTS} times")
    if top > MOST_ANSWERS:
        raise Refused(400, f"top is at most {MOST_ANSWERS}, not {top}")
    return [result.as_dict() for result in find(served.model, q, top, **options)]


def _topics(served: ServedModel, fields: tuple[str, ...]) -> dict[str, Any]:
    from spherevec.topics.persistence import describe

    found = served.topics()
    return {**describe(found), "by": [breakdown(found, field).as_dict() for field in fields]}


def _infer(served: ServedModel, texts: list[str]) -> dict[str, Any]:
    return {"documents": len(texts), "vectors": served.model.infer(texts, threads=1).tolist()}


def _info(served: ServedModel) -> dict[str, Any]:
    return served.model.describe()


class _Endpoint(NamedTuple):
    """One address: what answers it, and the options of a command that it takes as parameters."""

    answer: Callable[..., Any]
    summary: str
    command: click.Command | None = None
    options: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, click.Parameter]:
        """The options by the names that a request gives them."""
        if self.command is None:
            return {}
        named = {option.opts[0].lstrip("-"): option for option in self.command.params}
        return {name: named[name] for name in self.options}


_SEARCH_OPTIONS = ("top", "where", "among", "mode", "subwords", "explain")
ENDPOINTS = {
    "/search": _Endpoint(_search, "Find documents, words or topics.", search, _SEARCH_OPTIONS),
    "/topics": _Endpoint(_topics, "The topics of the documents.", topics, ("by",)),
    "/info": _Endpoint(_info, "What the model holds and how it was trained."),
}


class Service:
    """Answers requests from the newest model in a folder."""

    def __init__(self, folder: Path, token: str | None = None) -> None:
        self._folder, self._token = folder, token
        self._served = ServedModel(folder)
        self._looked, self._loading = time.monotonic(), False
        # Searches are compiled loops over all documents: more of them at once would only wait for each other.
        self._pool = ThreadPoolExecutor(max(2, usable_cores()))

    def app(self) -> Starlette:
        """The application for an ASGI server."""
        try:
            from starlette.applications import Starlette
            from starlette.exceptions import HTTPException
            from starlette.routing import Route
        except ImportError:
            raise MissingExtraError("serving a model", "serve") from None
        routes = [Route(path, partial(self._respond, self._get)) for path in ENDPOINTS]
        routes.append(Route("/", partial(self._respond, self._page)))
        routes.append(Route("/infer", partial(self._respond, self._post), methods=["POST"]))
        routes.append(Route("/openapi.json", partial(self._respond, self._openapi)))

        async def refused(request: Request, error: Exception) -> Response:
            assert isinstance(error, HTTPException)
            return _json({"error": error.detail}, error.status_code, error.headers)

        return Starlette(routes=routes, exception_handlers={HTTPException: refused})

    async def _respond(self, answer: Callable[[Request], Any], request: Request) -> Response:
        try:
            self._check_access(request)
            result = await answer(request)
        except Refused as error:
            asks = {"WWW-Authenticate": 'Basic realm="spherevec", charset="UTF-8"'} if error.status == 401 else None
            return _json({"error": str(error)}, error.status, asks)
        except click.UsageError as error:
            return _json({"error": error.format_message()}, 400)
        except SpherevecError as error:
            return _json({"error": " ".join(str(error).split())}, 400)
        return result if not isinstance(result, dict | list) else _json(result)

    def _check_access(self, request: Request) -> None:
        """The token, as a bearer token or as the password that a browser asks for; without one, only this machine."""
        if self._token is None:
            # A page of another site that points its own name at this machine must not read the documents.
            if request.url.hostname not in _LOOPBACK:
                raise Refused(403, "without --token, requests must name localhost")
            return
        kind, _, sent = request.headers.get("authorization", "").partition(" ")
        given = sent.encode("latin-1")  # as headers are decoded
        if kind.lower() == "basic":
            with suppress(ValueError):
                given = base64.b64decode(given).partition(b":")[2]
        if not hmac.compare_digest(given, self._token.encode()):
            raise Refused(401, "the token is missing or wrong; send it as Authorization: Bearer TOKEN")

    async def _get(self, request: Request) -> Any:
        endpoint = ENDPOINTS[request.url.path]
        return await self._work(partial(endpoint.answer, **_parsed(endpoint, request)))

    async def _post(self, request: Request) -> Any:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                raise Refused(413, f"a request holds at most {LARGEST_BODY:,} bytes; send fewer texts")
        try:
            texts = json.loads(body)["texts"]
        except (ValueError, KeyError, TypeError, RecursionError):
            texts = None
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise Refused(400, 'the body must be JSON: {"texts": ["…", "…"]}')
        if not 1 <= len(texts) <= MOST_TEXTS:
            raise Refused(400, f"texts holds 1 to {MOST_TEXTS} texts, not {len(texts)}")
        return await self._work(_infer, texts)

    async def _page(self, request: Request) -> Response:
        from starlette.responses import HTMLResponse

        return HTMLResponse(await self._work(ServedModel.page))

    async def _openapi(self, request: Request) -> dict[str, Any]:
        return openapi()

    async def _work(self, answer: Callable[..., Any], *arguments: Any) -> Any:
        """What `answer` says of the current model, in a thread."""
        loop = asyncio.get_running_loop()
        if not self._loading and time.monotonic() > self._looked + _SECONDS_BETWEEN_LOOKS:
            self._looked = time.monotonic()
            if _stamp(self._folder) not in (self._served.stamp, None):
                self._loading = True
                loop.run_in_executor(None, self._reload)
        # A request keeps the model that it began with, also when another one takes its place.
        return await loop.run_in_executor(self._pool, answer, self._served, *arguments)

    def _reload(self) -> None:
        try:
            self._served = ServedModel(self._folder)
            tell(f"{self._folder}: loaded again")
        except (SpherevecError, OSError) as error:
            tell(f"{self._folder}: cannot be loaded, the model before stays: {error}")
        finally:
            self._loading = False


def openapi() -> dict[str, Any]:
    """The OpenAPI description of the service."""
    fault = {"description": "What is wrong, in one line.", "content": _content({"error": {"type": "string"}})}
    responses = {"200": {"description": "As the command prints it with --json."}, "4XX": fault}
    paths: dict[str, Any] = {}
    for path, endpoint in ENDPOINTS.items():
        parameters = [
            {"name": name, "in": "query", "description": getattr(option, "help", ""), "schema": _schema(option)}
            for name, option in endpoint.parameters.items()
        ]
        if path == "/search":
            texts = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_TEXTS}
            parameters.insert(0, {"name": "q", "in": "query", "required": True, "schema": texts})
        paths[path] = {"get": {"summary": endpoint.summary, "parameters": parameters, "responses": responses}}
    texts = {"texts": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_TEXTS}}
    about = {"summary": "Vectors of new texts.", "requestBody": {"required": True, "content": _content(texts)}}
    paths["/infer"] = {"post": {**about, "responses": responses}}
    paths["/"] = {"get": {"summary": "The map of the model as a page.", "responses": {"200": {"description": "HTML"}}}}
    return {"openapi": "3.1.0", "info": {"title": "spherevec", "version": __version__}, "paths": paths}


def _content(properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"application/json": {"schema": schema}}


def _schema(option: click.Parameter) -> dict[str, Any]:
    names = {click.IntRange: "integer", type(click.BOOL): "boolean"}
    schema: dict[str, Any] = {"type": names.get(type(option.type), "string")}
    if isinstance(option.type, click.Choice):
        schema["enum"] = list(option.type.choices)
    if option.multiple:
        return {"type": "array", "items": schema}
    return {**schema, "default": option.get_default(click.Context(click.Command(str(option.name))))}


def _parsed(endpoint: _Endpoint, request: Request) -> dict[str, Any]:
    """The parameters of a request, read as the command reads its options."""
    texts = ["q"] if endpoint.command is search else []
    known, given = endpoint.parameters, request.query_params
    for name in given:
        if name not in (*texts, *known):
            raise Refused(400, f"no parameter {name!r:.60} here; choose from {', '.join([*texts, *known]) or 'none'}")
    values: dict[str, Any] = {name: given.getlist(name) for name in texts}
    for name, option in known.items():
        found = given.getlist(name)
        if len(found) > 1 and not option.multiple:
            raise Refused(400, f"{name} is given {len(found)} times; give it once")
        context = click.Context(click.Command(name))
        value = found if option.multiple else found[0] if found else option.get_default(context)
        values[str(option.name)] = option.type_cast_value(context, value)
    return values


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    from starlette.responses import Response

    return Response(f"{json_text(value)}\n", status, headers, "application/json")


def _stamp(folder: Path) -> tuple[int, ...] | None:
    """What changes when the model in a folder is replaced; None while there is none."""
    from spherevec.model.parts import MANIFEST

    try:
        found = (folder / MANIFEST).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
