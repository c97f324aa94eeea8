"""Assertions about what a server has answered. Their messages show what came instead."""

from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast, overload

import msgspec

from ..client.json_shapes import as_object
from ..errors import McpError
from ..protocol.revisions import NEWEST_HANDSHAKE, SUPPORTED
from ..server.server import Server
from .answers import Answers
from .client import Client
from .play_call import Differs
from .results import ToolFailed
from .sync import SyncClient

T = TypeVar("T")
Json: TypeAlias = dict[str, Any]

ERAS = (NEWEST_HANDSHAKE.date, SUPPORTED[0])


def assert_error(response: Any, code: int, contains: str = "") -> Json:
    """A response is an error of this code, with these words in it, whatever their case.

    Args:
        response: what `client.raw(…)` or `server.handle(…)` gave: an object, a text or bytes; or
            an `McpError` that was raised.

    Returns:
        The error, for what else there is to check.
    """
    error = _error(response)
    assert error is not None, f"expected error {code}, got {response!r}"
    assert error.get("code") == code, f"expected error {code}, got {error!r}"
    words = str(error.get("message"))
    assert contains.lower() in words.lower(), f"expected {contains!r} in {words!r}"
    return error


def _error(response: Any) -> Json | None:
    if isinstance(response, McpError):
        error: Json = {"code": response.code, "message": response.message}
        return error if response.data is msgspec.UNSET else {**error, "data": response.data}
    if isinstance(response, str | bytes):
        response = msgspec.json.decode(response)
    return as_object((as_object(response) or {}).get("error"))


@overload
def assert_resource(
    client: Client, uri: str, expected: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> Coroutine[Any, Any, None]: ...
@overload
def assert_resource(
    client: SyncClient, uri: str, expected: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> None: ...
def assert_resource(
    client: Client | SyncClient, uri: str, expected: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> Coroutine[Any, Any, None] | None:
    """A resource holds just this, in fields as they are sent: `{"uri": …, "text": …}`, or a list
    of such. With a `Client`, await it."""
    if isinstance(client, SyncClient):
        return client.run(_assert_resource(client.client, uri, expected))
    return _assert_resource(client, uri, expected)


async def _assert_resource(
    client: Client, uri: str, expected: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> None:
    result = await client.request("resources/read", {"uri": uri})
    each = [expected] if isinstance(expected, Mapping) else list(expected)
    wanted: Any = msgspec.to_builtins(each)  # bytes are sent as Base64
    contents: Any = result.get("contents")
    assert contents == wanted, f"{uri} holds {contents!r}, and not {wanted!r}"


async def assert_same_in_every_era(
    server: Server,
    call: Callable[[Client], Awaitable[T]],
    *,
    answers: Answers | None = None,
    revisions: Sequence[str] = ERAS,
) -> T:
    """Whatever a client does comes to the same in both eras: `lambda client: client.call("add")`.

    An error that is raised counts as well. What is returned, or raised, is returned, or raised.

    Args:
        answers: those of each client.
        revisions: in which it is done; by default in the newest of each era.

    Raises:
        Differs: it does not.
    """
    outcomes = [await _outcome(server, call, revision, answers) for revision in revisions]
    first, *others = outcomes
    for other in others:
        if other.told != first.told:
            raise Differs(
                f"in {first.revision}: {first.told!r}\nin {other.revision}: {other.told!r}"
            )
    if first.error is not None:
        raise first.error
    return cast(T, first.told)


class _Outcome(NamedTuple):
    """How a call went in one revision: what it returned, or what its error tells."""

    revision: str
    told: object
    error: Exception | None = None


async def _outcome(
    server: Server,
    call: Callable[[Client], Awaitable[object]],
    revision: str,
    answers: Answers | None,
) -> _Outcome:
    async with Client(server, revision, answers=answers) as client:
        try:
            return _Outcome(revision, await call(client))
        except (McpError, ToolFailed) as error:
            told = (type(error).__name__, str(error), getattr(error, "code", None))
            return _Outcome(revision, told, error)


@contextmanager
def assert_metrics(server: Server, expected: Mapping[str, tuple[int, int]]) -> Generator[None]:
    """What happens in the block counts as so many calls and errors: `{"tools/list": (1, 0)}`.

    Names are those of `server.metrics`: of methods, and of tools as in `tools/call:add`.
    """
    before = {name: _counted(server, name) for name in expected}
    yield
    found = {name: _counted(server, name) for name in expected}
    wrong = [
        f"{name}: expected {wanted[0]} calls and {wanted[1]} errors, got "
        f"{found[name][0] - before[name][0]} and {found[name][1] - before[name][1]}"
        for name, wanted in expected.items()
        if (found[name][0] - before[name][0], found[name][1] - before[name][1]) != tuple(wanted)
    ]
    assert not wrong, "\n".join(wrong)


def _counted(server: Server, name: str) -> tuple[int, int]:
    measured = server.metrics[name]
    return measured.calls, measured.errors
