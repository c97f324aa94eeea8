"""Keywords of several functions, and their validation; documented in `Server` and `Listener`."""

import os
import sys
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Never, Protocol, TypeAlias, TypedDict, cast

from msgspec import Struct, structs

from ..features.author_checks import check_described
from ..features.functions.described_arguments import Arg
from ..features.resources import Cache
from ..features.tools import ErrorSetting
from ..protocol.framing import FramingName
from ..protocol.handshake import SessionMode
from ..protocol.ports import Guard, Traffic
from ..types.content import Annotations
from ..types.wire import Icon, Json, Meta

# Kinds of entries.
Kind: TypeAlias = Literal["tool", "resource", "prompt"]


class _Options(TypedDict, total=False):
    """The keywords of all decorators."""

    name: str | None
    title: str | None
    description: str | None
    icons: Sequence[Icon]
    meta: Meta | None
    timeout: float | None
    limit: int | None
    thread: bool
    replace: bool
    shared: bool


class PromptOptions(_Options, total=False):
    """The keywords of `@server.prompt`."""


class ToolOptions(_Options, total=False):
    """The keywords of `@server.tool`."""

    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None
    category: str | None
    tags: Sequence[str]
    args: Sequence[Arg] | None
    input_schema: dict[str, Json] | None
    output_schema: dict[str, Json] | None
    strict: bool
    errors: ErrorSetting | None
    needs_session: bool
    cache: float
    run_on: Any


class ResourceOptions(_Options, total=False):
    """The keywords of `@server.resource`."""

    mime_type: str | None
    size: int | None
    annotations: Annotations | None
    cache: float | Cache | None
    raw: bool


RunnerName: TypeAlias = Literal["uvicorn", "granian"]
_Event: TypeAlias = MutableMapping[str, Any]


class ASGI(Protocol):
    """An application that any ASGI server can run, and any ASGI application can mount."""

    async def __call__(
        self,
        scope: _Event,
        receive: Callable[[], Awaitable[_Event]],
        send: Callable[[_Event], Awaitable[None]],
    ) -> None: ...

    def lifespan(self, host: object = None) -> AbstractAsyncContextManager[None]:
        """Lifespan for a host that sends no lifespan events to mounted applications, such as
        Starlette: `Starlette(routes=…, lifespan=app.lifespan)`."""
        ...


class HttpOptions(TypedDict, total=False):
    """The keywords of `server.asgi`."""

    sessions: SessionMode
    allow_hosts: Sequence[str]
    allow_origins: Sequence[str]
    guard: Guard | None
    legacy_sse: bool


class ServerInfo(TypedDict, total=False):
    """Defaults of a listener for fields of `Server` that its servers leave unset."""

    version: str
    title: str
    description: str
    website_url: str
    icons: Sequence[Icon]


class ListenerOptions(HttpOptions, total=False):
    """The keywords of `server.run(http=…)`."""

    tls: tuple[str, str] | tuple[str, str, str] | None
    runner: RunnerName
    metrics: bool
    info: ServerInfo | None


class FixedSettings:
    """Base class with settings that are fixed by `__init__`. Assigning one later is an error, since
    it would have no effect: a guard that is assigned protects nothing."""

    _settings: frozenset[str] = frozenset()
    _is_initialized = False

    # `Never`, so that type checkers still report assignments to unknown attributes.
    def __setattr__(self, name: str, value: Never, /) -> None:
        if self._is_initialized and name in self._settings:
            kind = type(self).__name__
            raise AttributeError(f"{name} of a {kind} is settled when it is made, as {kind}(…)")
        super().__setattr__(name, value)


# False: off; True: to the log; a path: to a file; or an implementation of `Traffic`.
TrafficSetting: TypeAlias = "bool | str | os.PathLike[str] | Traffic"


def traffic_of(setting: TrafficSetting) -> Traffic | None:
    """Return the traffic log for the option `log_traffic`.

    Raises:
        TypeError: the value is none of the possible ones.
    """
    if setting is False:
        return None
    if not (setting is True or isinstance(setting, str | os.PathLike)):
        if not hasattr(setting, "message"):
            raise TypeError(f"log_traffic takes True, a path or a TrafficLog, not {setting!r}")
        from ..traffic import supplied  # noqa: PLC0415

        return supplied(setting)
    from ..traffic import TrafficLog  # noqa: PLC0415

    return TrafficLog() if setting is True else TrafficLog(setting)


class HttpTerms(Struct, frozen=True, kw_only=True):
    """The options of a service over HTTP, validated."""

    sessions: SessionMode = "auto"
    allow_hosts: Sequence[str] = ()
    allow_origins: Sequence[str] = ()
    guard: Guard | None = None
    legacy_sse: bool = False

    def __post_init__(self) -> None:
        if self.sessions not in ("auto", "stateful", "stateless"):
            raise ValueError(
                f"sessions={self.sessions!r}: expected 'auto', 'stateful' or 'stateless'"
            )
        check_flags("legacy_sse", legacy_sse=self.legacy_sse)
        if self.guard is not None and not callable(self.guard):
            raise TypeError(f"guard takes a function of the headers, not {self.guard!r}")
        for name in ("allow_hosts", "allow_origins"):
            value: Any = getattr(self, name)
            if isinstance(value, str):
                raise TypeError(f"{name} takes a list, as in {name}=[{value!r}]")
            if not isinstance(value, Collection) or not all(
                isinstance(each, str) for each in cast(Collection[object], value)
            ):
                raise TypeError(f"{name} takes a list of str, not {value!r}")
        for host in self.allow_hosts:
            if "/" in host:
                raise ValueError(f"allow_hosts: {host!r} is no host; say it as in 'example.com'")
        for origin in self.allow_origins:
            if origin not in ("*", "null") and "://" not in origin:
                raise ValueError(
                    f"allow_origins: {origin!r} is no origin; say it as in 'https://example.com'"
                )


def check_flags(what: str, **flags: object) -> None:
    """Check that these are `bool`: `"no"` would count as true.

    Raises:
        TypeError: a value is not; the message names it.
    """
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{what}: {name} must be True or False, not {value!r}")


def http_terms_of(what: str, options: HttpOptions, otherwise: HttpTerms) -> HttpTerms:
    """Return `otherwise` with the given options in place of its own.

    Args:
        what: the function that takes the options, such as `mount()`, for the message.

    Raises:
        TypeError, ValueError: an option is wrong; the message names the keyword.
    """
    known = HttpOptions.__annotations__
    for name in options:
        if name not in known:
            raise TypeError(_unknown(what, name, known))
    return structs.replace(otherwise, **options)


def check_info(info: Any) -> None:
    """Check the `info` of a listener.

    Raises:
        TypeError: a field is unknown or wrong; the message says which.
    """
    if not isinstance(info, Mapping):
        raise TypeError(f'info takes a dict, as in info={{"version": "1.0.0"}}, not {info!r}')
    for name in cast(Mapping[str, object], info):
        if name == "name":
            raise TypeError("info: each server has a name of its own; leave it out here")
        if name not in ServerInfo.__annotations__:
            raise TypeError(_unknown("info", name, ServerInfo.__annotations__))
    check_described("info", **cast(Mapping[str, Any], info))


def check_keywords(what: str, unknown: Mapping[str, object], function: Any) -> None:
    """Refuse unknown keywords.

    Args:
        unknown: keywords that `function` does not take.
        function: its keyword-only parameters are suggested instead.

    Raises:
        TypeError: `unknown` is not empty; the message suggests a keyword.
    """
    for name in unknown:
        raise TypeError(_unknown(what, name, function.__kwdefaults__))


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    from ..suggestions import unknown_keyword  # noqa: PLC0415

    return unknown_keyword(what, name, known)


def check_no_loop() -> None:
    """Check that no event loop runs in this thread.

    Raises:
        RuntimeError: a loop runs; the message says what to do.
    """
    asyncio = sys.modules.get("asyncio")  # do not import it here: it is slow
    if asyncio is None:
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "run() begins an event loop, and one is running here already: call run() outside of async "
        "functions. Inside of one, `await Listener(...).serve()` serves over HTTP, `await "
        "server.serve(reader, writer)` over streams, and server.attach() in the background"
    )


def check_listening(
    framing: FramingName,
    http: str | int | None,
    path: str,
    workers: int,
    options: Mapping[str, object],
) -> None:
    """Check the arguments of `Server.run`.

    Raises:
        TypeError: options do not fit the transport; the message says how to call it.
        ValueError: there is no such framing.
    """
    if framing not in ("auto", "lines", "content-length"):
        raise ValueError(f"framing={framing!r}: expected 'auto', 'lines' or 'content-length'")
    if http is not None and framing != "auto":
        raise TypeError("framing is for stdio; over HTTP a message is a body")
    known = {**HttpOptions.__annotations__, **ListenerOptions.__annotations__}
    for name in options:
        if name not in known:
            raise TypeError(_unknown("run()", name, ("framing", "http", "path", "workers", *known)))
    if http is None and (options or path != "/mcp" or workers != 1):
        raise TypeError(
            'run() without http= serves over stdio; say where, as in http="127.0.0.1:8000"'
        )
