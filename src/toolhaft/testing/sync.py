"""`SyncClient`: the same client for plain functions and for the prompt of an interpreter.

It runs on a loop of its own, in a thread of its own.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, TypeAlias, TypeVar, Unpack

from ..client.channel import Progress
from ..client.http.asgi import Application
from ..client.wire import Wire
from ..server.server import Server
from ..types.content import ResourceContents
from ..types.notifications import LogLevel
from ..types.prompts import Completion, Prompt
from ..types.resources import Resource, ResourceTemplate
from ..types.tools import Tool
from ..types.wire import Implementation
from .answers import Answers, Question
from .change_stream import Heard, Notice
from .client import Client
from .client_options import ClientOptions
from .requests import Requests
from .results import PromptAnswer, ToolResult

T = TypeVar("T")
Json: TypeAlias = dict[str, Any]


class SyncHeard:
    """Changes, in the order in which they were told."""

    def __init__(self, client: "SyncClient", heard: Heard) -> None:
        self._client = client
        self._heard = heard

    @property
    def agreed(self) -> Json | None:
        """What the server has agreed to tell; in a session it tells what it has."""
        return self._heard.agreed

    def next(self, timeout: float | None = None) -> Notice:
        """The next change. Raises NoAnswer if there is none in time."""
        return self._client.run(self._heard.next(timeout))

    def so_far(self) -> list[Notice]:
        """What has been told and not been taken yet, without waiting."""
        return self._client.run(_so_far(self._heard))

    def __iter__(self) -> "SyncHeard":
        return self

    def __next__(self) -> Notice:
        return self.next()


class SyncClient:
    """A client of one server, for as long as a `with` block. See `Client`."""

    def __init__(
        self, server: Server, revision: str | None = None, **options: Unpack[ClientOptions]
    ) -> None:
        self._prepare(Client(server, revision, **options))

    def _prepare(self, client: Client) -> None:
        # The client that does the work. It belongs to a loop of its own: `run` asks it.
        self.client = client
        client.closed_because = "this client is not open; use it in: with SyncClient(…) as client"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @classmethod
    def stdio(
        cls,
        command: str | Sequence[str | os.PathLike[str]],
        *,
        revision: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        **options: Unpack[ClientOptions],
    ) -> "SyncClient":
        """A client of a server in a process of its own."""
        return cls.of(Client.stdio(command, revision=revision, env=env, cwd=cwd, **options))

    @classmethod
    def http(
        cls,
        url: str,
        *,
        revision: str | None = None,
        headers: Mapping[str, str] | None = None,
        session: str | None = None,
        uds: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
        **options: Unpack[ClientOptions],
    ) -> "SyncClient":
        """A client of a server that listens somewhere."""
        return cls.of(
            Client.http(
                url,
                revision=revision,
                headers=headers,
                session=session,
                uds=uds,
                certificate=certificate,
                **options,
            )
        )

    @classmethod
    def asgi(
        cls,
        app: Application,
        path: str = "/mcp",
        *,
        revision: str | None = None,
        headers: Mapping[str, str] | None = None,
        session: str | None = None,
        lifespan: bool = True,
        **options: Unpack[ClientOptions],
    ) -> "SyncClient":
        """A client over HTTP without a socket: of an ASGI application, whose lifespan it runs."""
        return cls.of(
            Client.asgi(
                app,
                path,
                revision=revision,
                headers=headers,
                session=session,
                lifespan=lifespan,
                **options,
            )
        )

    @classmethod
    def attached(
        cls,
        process: str | os.PathLike[str],
        *,
        revision: str | None = None,
        **options: Unpack[ClientOptions],
    ) -> "SyncClient":
        """A client of a process that is attached, by its name or its socket."""
        return cls.of(Client.attached(process, revision=revision, **options))

    @classmethod
    def of(cls, client: Client) -> "SyncClient":
        """The same for plain functions."""
        made = cls.__new__(cls)
        made._prepare(client)
        return made

    # Beginning and end

    def __enter__(self) -> "SyncClient":
        if self._loop is not None:
            raise RuntimeError("this client is open already")
        loop = self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=loop.run_forever, name="toolhaft.testing", daemon=True
        )
        self._thread.start()
        try:
            self.run(self.client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.run(self.client.__aexit__(kind, error, traceback))
        finally:
            self._stop()

    def _stop(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        loop, self._loop = self._loop, None
        asyncio.run_coroutine_threadsafe(loop.shutdown_asyncgens(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        """Wait for something on the client's loop, such as `run(client.client.call("add"))`."""
        if self._loop is None:
            doing.close()
            raise RuntimeError(self.client.closed_because)
        if threading.current_thread() is self._thread:
            doing.close()
            raise RuntimeError(
                "this client is used from a callback of this client, which would wait for itself "
                "for ever; use the callback to note what it is told, and ask afterwards"
            )
        done = asyncio.run_coroutine_threadsafe(doing, self._loop)
        try:
            return done.result()
        except KeyboardInterrupt:
            done.cancel()
            raise

    # Who it talks to

    @property
    def revision(self) -> str:
        """The revision that is spoken."""
        return self.client.revision

    @property
    def server_info(self) -> Implementation:
        """What the server says of itself."""
        return self.client.server_info

    @property
    def capabilities(self) -> Json:
        """What the server offers."""
        return self.client.capabilities

    @property
    def instructions(self) -> str | None:
        """What the server wants a model to know."""
        return self.client.instructions

    @property
    def session_id(self) -> str | None:
        """The id of the session over HTTP, if there is one."""
        return self.client.session_id

    @property
    def stderr(self) -> str:
        """What the server has written to stderr, if it is a process of ours."""
        return self.client.stderr

    @property
    def exit_status(self) -> int | None:
        """With which the server has ended, if it is a process of ours, and has."""
        return self.client.exit_status

    @property
    def wire(self) -> Wire:
        """Everything that was sent and received."""
        return self.client.wire

    # What it asks for: see `Client`

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
        """Call a tool; what it returned. Raises ToolFailed if it answers with an error."""
        return self.run(self.client.call(tool, arguments, **more))

    def call_raw(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Call a tool; all that it answered, also if that is an error."""
        return self.run(
            self.client.call_raw(
                tool, arguments, timeout=timeout, on_progress=on_progress, meta=meta
            )
        )

    def list_tools(self) -> list[Tool]:
        """All tools, from all pages."""
        return self.run(self.client.list_tools())

    def tool(self, name: str) -> Tool:
        """A tool as it is listed."""
        return self.run(self.client.tool(name))

    def read(self, uri: str) -> str | bytes:
        """What a resource holds, if it is one text or one blob."""
        return self.run(self.client.read(uri))

    def read_raw(self, uri: str) -> list[ResourceContents]:
        """All that a resource holds."""
        return self.run(self.client.read_raw(uri))

    def list_resources(self) -> list[Resource]:
        """All resources, from all pages."""
        return self.run(self.client.list_resources())

    def list_templates(self) -> list[ResourceTemplate]:
        """All templates of resources, from all pages."""
        return self.run(self.client.list_templates())

    def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, /, **more: str
    ) -> PromptAnswer:
        """The messages of a prompt."""
        return self.run(self.client.prompt(name, arguments, **more))

    def list_prompts(self) -> list[Prompt]:
        """All prompts, from all pages."""
        return self.run(self.client.list_prompts())

    def complete(
        self,
        reference: str,
        argument: str,
        value: str = "",
        given: Mapping[str, str] | None = None,
    ) -> Completion:
        """What the server suggests for an argument of a prompt, or a variable of a template."""
        return self.run(self.client.complete(reference, argument, value, given))

    @contextmanager
    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Sequence[str] = (),
    ) -> Generator[SyncHeard]:
        """Hear of changes of lists, and of these resources, for as long as the block lasts."""
        block = self.client.listen(tools=tools, prompts=prompts, resources=resources, uris=uris)
        heard = self.run(_entered(block))
        try:
            yield SyncHeard(self, heard)
        except BaseException as error:
            if not self.run(_left(block, error)):
                raise
        else:
            self.run(_left(block, None))

    def subscribe(self, *uris: str) -> AbstractContextManager[SyncHeard]:
        """Hear of changes of these resources, for as long as the block lasts."""
        return self.listen(uris=uris)

    def ping(self) -> None:
        """Is the server there? Not in 2026-07-28, which has no such request."""
        self.run(self.client.ping())

    def set_level(self, level: LogLevel) -> None:
        """How much the server logs: by a request, or in each request from now on."""
        self.run(self.client.set_level(level))

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Json:
        """Any request; its result as it was sent."""
        return self.run(
            self.client.request(method, params, timeout=timeout, on_progress=on_progress, meta=meta)
        )

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Any notification."""
        self.run(self.client.notify(method, params))

    def raw(self, message: Json | list[Any] | str | bytes) -> Any:
        """Send a message just as it is; the response, or None if it is none that has one."""
        return self.run(self.client.raw(message))

    @property
    def requests(self) -> Requests:
        """Makes messages for `raw`, with ids that this client has not used."""
        return self.client.requests

    @property
    def questions(self) -> list[Question]:
        """What the server has asked, in order."""
        return self.client.questions

    @property
    def rounds(self) -> int:
        """How often the last request was sent until it had its result."""
        return self.client.rounds

    def answer(self, answers: Answers) -> None:
        """Have these answers ready instead of those before, which must all have been used."""
        self.client.answer(answers)


async def _entered(block: AbstractAsyncContextManager[T]) -> T:
    return await block.__aenter__()


async def _left(block: AbstractAsyncContextManager[Any], error: BaseException | None) -> bool:
    """Leave it, as `async with` does; True if it keeps the error to itself."""
    kind = None if error is None else type(error)
    return bool(await block.__aexit__(kind, error, None))


async def _so_far(heard: Heard) -> list[Notice]:
    return heard.so_far()
