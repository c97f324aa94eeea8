"""`Client`: a client for tests, of every revision, in memory, over stdio or over HTTP."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Any, TypeAlias, TypeVar, Unpack

from ..client.attached import Attached
from ..client.channel import Progress, encoded
from ..client.conversation import Conversation
from ..client.http.asgi import Application, InProcess
from ..client.http.sockets import Sockets
from ..client.http.streamable import Http
from ..client.json_shapes import as_list, is_silent, parsed
from ..client.memory import InMemory
from ..client.request_meta import ALL_CAPABILITIES
from ..client.stdio import Child
from ..client.transport import Transport
from ..client.wire import Wire
from ..errors import HeaderMismatch, McpError
from ..server.server import Server
from ..suggestions import unknown_keyword
from ..types.content import ResourceContents, TextContents
from ..types.notifications import LogLevel, LogMessage
from ..types.prompts import Completion, Prompt
from ..types.resources import Resource, ResourceTemplate
from ..types.tools import Tool
from ..types.wire import Implementation
from .answers import Answers, Question, Script, UnusedAnswers
from .change_stream import Heard, Notice, hearing
from .client_options import ClientOptions, of_session, patience
from .requests import INFO, Requests, completing, plain
from .results import (
    PromptAnswer,
    ToolFailed,
    ToolResult,
    contents,
    converted,
    prompt_answer,
    tool_result,
)

T = TypeVar("T")
Json: TypeAlias = dict[str, Any]


class Client:
    """A client of one server, for as long as an `async with` block.

    Args:
        revision: which one it speaks. By default it does what clients of both eras do: it asks
            which ones the server speaks, and falls back to the handshake.
        options: `answers` to the server's questions, `timeout`, `on_progress` and more: see
            `ClientOptions`.
    """

    # What is said to who uses it outside of its block.
    closed_because = "this client is not open; use it in: async with Client(…) as client"

    def __init__(
        self, server: Server, revision: str | None = None, **options: Unpack[ClientOptions]
    ) -> None:
        if not isinstance(server, Server):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"a Client is of a Server, not of {type(server).__name__}; there are Client.stdio "
                "for a command, Client.http for a URL and Client.asgi for an application"
            )
        self._prepare(lambda: InMemory(server), revision, options)

    def _prepare(
        self, connect: Callable[[], Transport], revision: str | None, options: ClientOptions
    ) -> None:
        if unknown := sorted(options.keys() - ClientOptions.__annotations__.keys()):
            known = ("revision", *sorted(ClientOptions.__annotations__))
            raise TypeError(unknown_keyword("Client", unknown[0], known))
        self._patience = patience(options)
        self._connect = connect
        self._options = options
        self._wanted = revision
        self._script = Script(options.get("answers"))
        self._transport: Transport | None = None
        self._talk: Conversation | None = None
        # Everything that was sent and received.
        self.wire = Wire()

    @classmethod
    def stdio(
        cls,
        command: str | Sequence[str | os.PathLike[str]],
        *,
        revision: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        **options: Unpack[ClientOptions],
    ) -> "Client":
        """A client of a server in a process of its own.

        Args:
            command: how to start it. `python` and `toolhaft` as its first word are those that run
                this test.
            env: variables beside those of this process.
        """
        return cls._over(lambda: Child(command, env=env, cwd=cwd), revision, options)

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
    ) -> "Client":
        """A client of a server that listens somewhere.

        Args:
            headers: sent with every request, such as `Authorization`.
            session: the id of a session that another client has begun with this revision, and that
                goes on here. It ends with that client.
            uds: the path of a Unix socket at which the server listens, instead of at the host.
            certificate: a file with the certificate that is trusted, instead of those that the
                system trusts.
        """

        def connect() -> Transport:
            return Http(Sockets(url, uds=uds, certificate=certificate), headers or {}, session)

        return cls._over(connect, of_session(revision, session), options)

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
    ) -> "Client":
        """A client over HTTP without a socket: of an ASGI application, whose lifespan it runs.

        Args:
            headers: sent with every request, such as `Authorization`.
            session: the id of a session that another client has begun, as for `http`.
            lifespan: False if another client runs it, or nobody is to.
        """
        if not callable(app):
            raise TypeError(
                f"{type(app).__name__} is no ASGI application; that of a Server is server.asgi()"
            )

        def connect() -> Transport:
            return Http(InProcess(app, path, lifespan=lifespan), headers or {}, session)

        return cls._over(connect, of_session(revision, session), options)

    @classmethod
    def attached(
        cls,
        process: str | os.PathLike[str],
        *,
        revision: str | None = None,
        **options: Unpack[ClientOptions],
    ) -> "Client":
        """A client of a process that is attached, without a bridge between.

        Args:
            process: its name, or the path of its socket.
        """
        return cls._over(lambda: Attached(process), revision, options)

    @classmethod
    def _over(
        cls, connect: Callable[[], Transport], revision: str | None, options: ClientOptions
    ) -> "Client":
        client = cls.__new__(cls)
        client._prepare(connect, revision, options)
        return client

    def speaking(self, revision: str) -> "Client":
        """Another client of the same server, not open yet, that speaks this revision."""
        return self._over(self._connect, revision, self._options)

    def transport(self) -> Transport:
        """What carries messages to the server, not open yet: for who speaks for themselves."""
        return self._connect()

    # Beginning and end

    async def __aenter__(self) -> "Client":
        if self._talk is not None:
            raise RuntimeError("this client is open already")
        options, declared = self._options, self._options.get("capabilities")
        level = options.get("level")
        if level is None and options.get("on_log") is not None:
            level = "debug"
        self._transport = self._connect()
        talk = Conversation(
            self._transport,
            revision=self._wanted,
            info=dict(options.get("info", INFO)),
            capabilities=ALL_CAPABILITIES if declared is None else dict(declared),
            answer=lambda method, params: self._script.answer(method, params),
            hear=self._hear,
            level=level,
            timeout=self._patience,
            wire=self.wire,
        )
        try:
            await (talk.begin() if self.session_id is None else talk.join())
        except BaseException:
            await talk.end()
            raise
        self._talk = talk
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        talk, self._talk = self.talk, None
        await talk.end()
        try:
            if error is None:
                self._script.check()
        except UnusedAnswers as unused:
            self._script.explain(unused, talk.revision)
            raise
        if error is not None:
            self._script.explain(error, talk.revision)

    @property
    def talk(self) -> Conversation:
        """The conversation, for what is not here."""
        if self._talk is None:
            raise RuntimeError(self.closed_because)
        return self._talk

    # Who it talks to

    @property
    def revision(self) -> str:
        """The revision that is spoken."""
        return self.talk.revision.date

    @property
    def server_info(self) -> Implementation:
        """What the server says of itself."""
        return converted(self.talk.server_info, Implementation, "serverInfo")

    @property
    def capabilities(self) -> Json:
        """What the server offers."""
        return self.talk.capabilities

    @property
    def instructions(self) -> str | None:
        """What the server wants a model to know."""
        return self.talk.instructions

    @property
    def session_id(self) -> str | None:
        """The id of the session over HTTP, if there is one."""
        return self._transport.session if isinstance(self._transport, Http) else None

    @property
    def stderr(self) -> str:
        """What the server has written to stderr, if it is a process of ours."""
        return "" if self._transport is None else self._transport.said

    @property
    def exit_status(self) -> int | None:
        """With which the server has ended, if it is a process of ours, and has: below 0, the signal
        that it took."""
        return self._transport.status if isinstance(self._transport, Child) else None

    # Tools

    async def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, /, **more: Any
    ) -> Any:
        """Call a tool; what it returned.

        Raises:
            ToolFailed: it answers with an error.
            McpError: the server refuses.
        """
        result = await self.call_raw(tool, {**(arguments or {}), **more})
        if result.is_error:
            raise ToolFailed(tool, result)
        return result.value

    async def call_raw(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Call a tool; all that it answered, also if that is an error."""
        params = {"name": tool, "arguments": dict(arguments or {})}
        call = partial(
            self.request, "tools/call", params, timeout=timeout, on_progress=on_progress, meta=meta
        )
        try:
            result = await call()
        except McpError as error:
            if error.code != HeaderMismatch.code:
                raise
            # Over HTTP, headers repeat some arguments; the list of tools says which.
            await self.list_tools()
            result = await call()
        return tool_result(result)

    async def list_tools(self) -> list[Tool]:
        """All tools, from all pages."""
        return await self._list("tools/list", "tools", Tool)

    async def tool(self, name: str) -> Tool:
        """A tool as it is listed."""
        tools = {tool.name: tool for tool in await self.list_tools()}
        assert name in tools, f"no tool {name!r}; there are {', '.join(tools) or 'none'}"
        return tools[name]

    # Resources

    async def read(self, uri: str) -> str | bytes:
        """What a resource holds, if it is one text or one blob."""
        found = await self.read_raw(uri)
        assert len(found) == 1, f"{uri} holds {len(found)} contents; read_raw gives all of them"
        [only] = found
        return only.text if isinstance(only, TextContents) else only.blob

    async def read_raw(self, uri: str) -> list[ResourceContents]:
        """All that a resource holds."""
        return contents(await self.request("resources/read", {"uri": uri}))

    async def list_resources(self) -> list[Resource]:
        """All resources, from all pages."""
        return await self._list("resources/list", "resources", Resource)

    async def list_templates(self) -> list[ResourceTemplate]:
        """All templates of resources, from all pages."""
        return await self._list("resources/templates/list", "resourceTemplates", ResourceTemplate)

    # Prompts

    async def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, /, **more: str
    ) -> PromptAnswer:
        """The messages of a prompt."""
        params: Json = {"name": name, "arguments": {**(arguments or {}), **more}}
        return prompt_answer(await self.request("prompts/get", params))

    async def list_prompts(self) -> list[Prompt]:
        """All prompts, from all pages."""
        return await self._list("prompts/list", "prompts", Prompt)

    async def complete(
        self,
        reference: str,
        argument: str,
        value: str = "",
        given: Mapping[str, str] | None = None,
    ) -> Completion:
        """What the server suggests for an argument of a prompt (by its name), or for a variable of
        a template (by its URI).

        Args:
            given: the arguments that are known already.
        """
        params = completing(reference, argument, value, given)
        result = await self.request("completion/complete", params)
        return converted(result.get("completion"), Completion, "completion/complete")

    # Changes

    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Sequence[str] = (),
    ) -> AbstractAsyncContextManager[Heard]:
        """Hear of changes of lists, and of these resources, for as long as the block lasts."""
        return hearing(self.talk, tools=tools, prompts=prompts, resources=resources, uris=uris)

    def subscribe(self, *uris: str) -> AbstractAsyncContextManager[Heard]:
        """Hear of changes of these resources, for as long as the block lasts."""
        return self.listen(uris=uris)

    # Whatever else

    async def ping(self) -> None:
        """Is the server there? Not in 2026-07-28, which has no such request."""
        await self.request("ping")

    async def set_level(self, level: LogLevel) -> None:
        """How much the server logs: by a request, or in each request from now on."""
        await self.talk.set_level(level)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Json:
        """Any request; its result as it was sent."""
        return await self.talk.request(
            method,
            plain(method, params or {}),
            timeout=timeout,
            progress=on_progress or self._options.get("on_progress"),
            meta=None if meta is None else dict(meta),
        )

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Any notification."""
        await self.talk.notify(method, dict(params or {}))

    async def raw(self, message: Json | list[Any] | str | bytes) -> Any:
        """Send a message just as it is; the response, or None if it is none that has one. That to
        a batch is a list.

        `client.requests` makes messages that say what this client's revision asks for.
        """
        known: Any = message
        if isinstance(message, dict | list):
            frame = encoded(message)
        elif not isinstance(message, str | bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(message).__name__
            raise TypeError(f"raw sends a dict, a list, a text or bytes as they are, not {kind}")
        else:
            frame = message.encode() if isinstance(message, str) else message
            try:
                known = parsed(frame)
            except ValueError:
                known = frame
        if all(map(is_silent, as_list(known) or [known])):
            await self.talk.send(known, frame)
            return None
        return await self.talk.exchange_raw(frame, known)

    @property
    def requests(self) -> Requests:
        """Makes messages for `raw`, with ids that this client has not used."""
        talk = self.talk
        return Requests(iter(talk.next_id, None), talk.envelope)

    # Questions

    @property
    def questions(self) -> list[Question]:
        """What the server has asked, in order."""
        return self._script.questions

    @property
    def rounds(self) -> int:
        """How often the last request was sent until it had its result."""
        return self.talk.rounds

    def answer(self, answers: Answers) -> None:
        """Have these answers ready instead of those before, which must all have been used."""
        self._script.check()
        self._script = Script(answers)

    # Inside

    async def _list(self, method: str, member: str, kind: type[T]) -> list[T]:
        entries = await self.talk.all_of(method, member)
        return [converted(entry, kind, method) for entry in entries]

    def _hear(self, method: str, params: Json) -> None:
        on_log, on_notice = self._options.get("on_log"), self._options.get("on_notice")
        if method == "notifications/message" and on_log is not None:
            on_log(converted(params, LogMessage, method))
        if on_notice is not None:
            on_notice(Notice(method, params))
