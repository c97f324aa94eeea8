"""Requests and their answers, with one server, in either era; and the answers to its questions.

A client of both eras: without a revision it asks what the server speaks (`server/discover`), and
falls back to the handshake if that is not understood.
"""

import asyncio
import itertools
import json
import math
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from msgspec import UNSET

from ..errors import McpError, MethodNotFound, UnsupportedVersion
from ..protocol.revisions import NEWEST_HANDSHAKE, REVISIONS, SUPPORTED, Revision
from ..protocol.stateless import SERVER_INFO
from .envelope import envelope, opening
from .failures import BadAnswer, ClientRefused, NoAnswer, Refused
from .outcomes import entries_of, result_of
from .shapes import as_list, as_object, parsed
from .transport import Transport
from .waiting import Waiting, key_of, named
from .wire import Wire

T = TypeVar("T")
Json: TypeAlias = dict[str, Any]
# Gets the method and the params of each notification.
Hear: TypeAlias = Callable[[str, Json], None]
# Gives the result of a request of the server's, by its method and params.
Answer: TypeAlias = Callable[[str, Json], Awaitable[Json]]
Progress: TypeAlias = Callable[[float, float | None, str | None], None]

MOST_ROUNDS = 10
# Statuses that say who may come in; none that an older server gives to what it does not understand.
_CLOSED_DOORS = (401, 403)
_A_MOMENT = 0.05


class Conversation:
    """A client, from its first message to the last."""

    def __init__(
        self,
        transport: Transport,
        *,
        revision: str | None,
        info: Json,
        capabilities: Json | None = None,
        answer: Answer | None = None,
        hear: Hear | None = None,
        level: str | None = None,
        timeout: float | None = None,
        wire: Wire | None = None,
    ) -> None:
        if revision is not None and revision not in REVISIONS:
            raise ValueError(f"no such revision: {revision!r}; there are {', '.join(SUPPORTED)}")
        self._transport = transport
        self._wanted = revision
        self._info = info
        self._own = capabilities if capabilities is not None else {}
        self._answer = answer
        self._hear = hear
        self._level = level
        self.timeout = timeout
        self._wire = wire
        self._ids = itertools.count(1)
        self._waiting = Waiting()
        self._progress: dict[Any, Progress] = {}
        self._tasks: dict[asyncio.Task[None], Any] = {}
        self._listeners: list[Hear] = []
        self._failure: Exception | None = None

        # What is spoken, and what the server says of itself.
        self.revision: Revision = REVISIONS[revision if revision is not None else SUPPORTED[0]]
        self.capabilities: Json = {}
        self.server_info: Json | None = None
        self.instructions: str | None = None
        # How often the last request was sent until it had its result.
        self.rounds = 0

    # Beginning and end

    async def begin(self) -> None:
        """Reach the server and agree on a revision.

        Raises:
            McpError, NoAnswer, ServerGone: this does not work.
        """
        await self._reach()
        if self._wanted is None:
            await self._negotiate()
        elif self.revision.handshake:
            await self._shake_hands(self.revision)
        else:
            await self._discover()

    async def join(self) -> None:
        """Reach the server in a session that another client has begun with this revision.

        Raises:
            NoAnswer, ServerGone: this does not work.
        """
        await self._reach()
        self._transport.agreed(self.revision.date)

    async def _reach(self) -> None:
        await self._awaited(self._transport.open(self._take, self._lost), "the server", None)

    async def end(self) -> None:
        """Leave."""
        await self._settle(list(self._tasks))
        await self._transport.close()
        await self._settle(list(self._tasks))

    async def _negotiate(self) -> None:
        asking = asyncio.create_task(self._discover(math.inf))
        try:
            await asyncio.wait({asking}, timeout=self.timeout)
            if asking.done() or not await self._shaken_hands_meanwhile(asking):
                await self._choose(asking)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _choose(self, asking: "asyncio.Task[list[str]]") -> None:
        try:
            offered = await asking
        except McpError as error:
            offered = _offered(error)
        except Refused as error:
            if error.status in _CLOSED_DOORS:
                raise
            offered = []
        chosen = _newest(offered)
        if chosen.handshake:
            await self._shake_hands(chosen)
        elif chosen is not self.revision:
            self.revision = chosen
            await self._discover()

    async def _shaken_hands_meanwhile(self, asking: "asyncio.Task[list[str]]") -> bool:
        """An older server may keep silent about what it does not know; a newer one may be slow.

        False if the server turns out to need no handshake, which is then left.
        """
        newest = self.revision
        shaking = asyncio.create_task(self._shake_hands(NEWEST_HANDSHAKE))
        try:
            await asyncio.wait({asking, shaking}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and not asking.exception() and not _newest(asking.result()).handshake:
                self.revision = newest
                return False
            try:
                await shaking
            except Exception as error:
                silence = f"server/discover: no answer within {self.timeout:g} seconds"
                error.add_note(f"{silence}, so the client tried a handshake")
                raise
        finally:
            shaking.cancel()
            await asyncio.gather(shaking, return_exceptions=True)
        return True

    async def _discover(self, timeout: float | None = None) -> list[str]:
        result = await self.request("server/discover", {}, timeout=timeout)
        self._know(result, result.get("_meta", {}).get(SERVER_INFO))
        versions: list[str] = result.get("supportedVersions", [])
        return versions

    async def _shake_hands(self, wanted: Revision) -> None:
        self.revision = wanted
        result = await self.request("initialize", opening(wanted, self._own, self._info))
        version = result.get("protocolVersion")
        agreed = REVISIONS.get(str(version))
        if agreed is None or (self._wanted is not None and agreed is not wanted):
            raise BadAnswer(f"the server speaks revision {version}, and not {wanted.date}")
        self.revision = agreed
        self._transport.agreed(agreed.date)
        self._know(result, result.get("serverInfo"))
        await self.notify("notifications/initialized")
        if self._level is not None and "logging" in self.capabilities:
            await self.request("logging/setLevel", {"level": self._level})

    def _know(self, result: Json, info: Json | None) -> None:
        self.capabilities = result.get("capabilities", {})
        self.server_info = info
        self.instructions = result.get("instructions")

    async def set_level(self, level: str) -> None:
        """How much the server logs to us."""
        if self.revision.handshake:
            await self.request("logging/setLevel", {"level": level})
        self._level = level

    # What is sent

    def envelope(self) -> Json:
        """What each request says of us, in the era in which it has to."""
        return envelope(self.revision, self._own, self._info, self._level)

    def next_id(self) -> int:
        """One that was not used before."""
        return next(self._ids)

    async def request(
        self,
        method: str,
        params: Json,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        meta: Json | None = None,
    ) -> Json:
        """The result of a request; what the server asks for on the way is answered.

        Raises:
            McpError: the server refuses.
            NoAnswer: it does not answer in time.
            ServerGone: it has ended.
        """
        more: Json = {}
        for self.rounds in range(1, MOST_ROUNDS + 1):
            message = self._message(method, {**params, **more}, progress, meta)
            response = await self.exchange(message, timeout=timeout, progress=progress)
            result = result_of(response, method)
            if result.get("resultType") != "input_required":
                return result
            more = await self._answers(result)
        raise BadAnswer(f"{method} still asks after {MOST_ROUNDS} rounds")

    async def all_of(self, method: str, member: str) -> list[Json]:
        """The entries of a list, from all of its pages."""
        page = await self.request(method, {})
        entries = list(entries_of(page, method, member))  # its own: the page is on record
        seen: set[str] = set()
        while (cursor := page.get("nextCursor")) is not None:
            if str(cursor) in seen:
                raise BadAnswer(f"{method} gives the cursor {cursor!r} twice, so it never ends")
            seen.add(str(cursor))
            page = await self.request(method, {"cursor": cursor})
            entries += entries_of(page, method, member)
        return entries

    def _message(
        self, method: str, params: Json, progress: Progress | None, meta: Json | None
    ) -> Json:
        id_ = self.next_id()
        said = {**self.envelope(), **(meta or {})}
        if progress is not None:
            said["progressToken"] = id_
        params = {**params, "_meta": said} if said else params
        message = {"jsonrpc": "2.0", "id": id_, "method": method}
        return {**message, "params": params} if params else message

    async def exchange(
        self,
        message: Json,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> Json:
        """A request as it is, and its response. Cancelled while it waits, it cancels the request.

        Args:
            timeout: in seconds; None is that of the conversation, `math.inf` is none.
        """
        with self._waiting.request(message) as answer:
            if progress is not None:
                self._progress[key_of(message["id"])] = progress
            sent = self._sent(message, None, answer)
            try:
                return await self._awaited(sent, named(message), timeout)
            except NoAnswer:
                await self._take_back(message)
                raise
            except asyncio.CancelledError:
                self._later(self._take_back(message), None)
                raise
            finally:
                self._progress.pop(key_of(message["id"]), None)

    async def exchange_raw(self, frame: bytes, message: Any) -> Any:
        """Any bytes, and the response: to their ids, or one that cannot say to what it is one."""
        with self._waiting.raw(message, batches=self.revision.batches) as answer:
            return await self._awaited(self._sent(message, frame, answer), f"{frame[:80]!r}", None)

    async def _sent(self, message: Any, frame: bytes | None, answer: "asyncio.Future[Any]") -> Any:
        await self.send(message, frame)
        self._waiting.sent(answer)
        return await answer

    async def notify(self, method: str, params: Json | None = None) -> None:
        """Send what has no answer."""
        message = {"jsonrpc": "2.0", "method": method}
        await self.send({**message, "params": params} if params else message)

    async def send(self, message: Any, frame: bytes | None = None) -> None:
        """Send a message, whatever it is."""
        if self._failure is not None:
            raise self._failure
        if self._wire is not None:
            self._wire.note(">", message)
        sending = self._transport.send(encoded(message) if frame is None else frame, message)
        await self._awaited(sending, named(as_object(message) or {}), None)

    async def listen(self, hear: Hear) -> Callable[[], None]:
        """Hear notifications from now on; the result ends that."""
        self._listeners.append(hear)
        await self._awaited(self._transport.listen(), "the stream of changes", None)
        return lambda: self._listeners.remove(hear)

    @contextmanager
    def failing(self) -> Generator["asyncio.Future[Any]"]:
        """Fails as soon as there is nothing more to be heard from the server."""
        with self._waiting.failure() as failure:
            if self._failure is not None:
                failure.set_exception(self._failure)
            yield failure

    async def _awaited(self, coming: Coroutine[Any, Any, T], what: str, timeout: float | None) -> T:
        seconds = self.timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                return await coming
        except NoAnswer:
            raise
        except TimeoutError:
            raise NoAnswer(self.told(f"{what}: no answer within {seconds:g} seconds")) from None

    def told(self, problem: str) -> str:
        """A problem, and what the server has said beside the protocol."""
        said = self._transport.said.strip()
        return f"{problem}; on stderr:\n{said}" if said else problem

    async def _take_back(self, message: Json) -> None:
        if message["method"] != "initialize" and not self._transport.drop(message["id"]):
            try:
                await self.notify("notifications/cancelled", {"requestId": message["id"]})
            finally:
                self._transport.forget(message["id"])

    # What comes

    def _take(self, frame: bytes) -> None:
        try:
            message = parsed(frame)
        except ValueError:
            if self._wire is not None:
                self._wire.note("<", frame)
            self._lost(None, BadAnswer(f"the server sent what is not JSON: {frame[:200]!r}"))
            return
        if self._wire is not None:
            self._wire.note("<", message)
        batch = as_list(message)
        if batch and self._waiting.take_batch(batch):
            batch = [each for each in batch if "method" in (as_object(each) or {})]
        for each in [message] if batch is None else batch:
            try:
                self._on(each)
            except Exception as error:  # of whoever hears: a test must not miss it
                self._waiting.lose_all(error)

    def _on(self, sent: Any) -> None:
        message = as_object(sent)
        if message is None:
            self._lost(None, BadAnswer(f"the server sent what is no message: {sent!r:.200}"))
        elif "method" not in message:
            self._waiting.take(message)
        elif "id" in message:
            self._later(self._respond(message), message["id"])
        else:
            self._on_notice(message["method"], message.get("params") or {})

    def _on_notice(self, method: str, params: Json) -> None:
        if method == "notifications/progress":
            told = self._progress.get(key_of(params.get("progressToken")))
            if told is not None:
                told(params["progress"], params.get("total"), params.get("message"))
        elif method == "notifications/cancelled":
            for task, id_ in self._tasks.items():
                if id_ is not None and key_of(id_) == key_of(params.get("requestId")):
                    task.cancel()
        if self._hear is not None:
            self._hear(method, params)
        for listener in list(self._listeners):
            listener(method, params)

    def _lost(self, id_: Any, error: Exception) -> None:
        """No answer will come, to one request or to any."""
        if id_ is not None:
            self._waiting.lose(id_, error)
        else:
            self._failure = error
            self._waiting.lose_all(error)

    # What the server asks for

    async def _respond(self, request: Json) -> None:
        """By a message, in the era of the handshake."""
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            result = await self._result(request["method"], request.get("params") or {})
        except McpError as error:
            said: Json = {"code": error.code, "message": error.message}
            if error.data is not UNSET:
                said["data"] = error.data
            await self.send({**answer, "error": said})
        except Exception as error:
            # Whoever waits for the server learns of it first, and then the server itself.
            self._waiting.lose_all(error)
            await self.send({**answer, "error": {"code": -1, "message": str(error)}})
        else:
            await self.send({**answer, "result": result})

    async def _answers(self, result: Json) -> Json:
        """By another round, in the era without a handshake."""
        more: Json = {}
        if "requestState" in result:
            more["requestState"] = result["requestState"]
        requests: Json = result.get("inputRequests") or {}
        if requests:
            more["inputResponses"] = {
                key: await self._answer_to(each["method"], each.get("params") or {})
                for key, each in requests.items()
            }
        else:  # it is not ready yet
            await asyncio.sleep(_A_MOMENT)
        return more

    async def _answer_to(self, method: str, params: Json) -> Json:
        try:
            return await self._result(method, params)
        except McpError as error:
            words = f"this client refused {method}, and left the call: {error.message}"
            raise ClientRefused(words, code=error.code, data=error.data) from error

    async def _result(self, method: str, params: Json) -> Json:
        if method == "ping":
            return {}
        if self._answer is None:
            raise MethodNotFound(f"this client does not know {method!r}")
        return await self._answer(method, params)

    # Tasks of our own

    def _later(self, doing: Coroutine[Any, Any, None], id_: Any) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks[task] = id_
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._lost(None, error if isinstance(error, Exception) else BadAnswer(repr(error)))

    async def _settle(self, tasks: "list[asyncio.Task[None]]") -> None:
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_A_MOMENT)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


def encoded(message: Any) -> bytes:
    """A message as bytes. By the standard library, since msgspec has no integers beyond 64 bits."""
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _newest(offered: list[str]) -> Revision:
    """The newest revision that both sides speak; if there is none, a server may still offer one."""
    spoken = [REVISIONS[date] for date in SUPPORTED if date in offered]
    return spoken[0] if spoken else NEWEST_HANDSHAKE


def _offered(error: McpError) -> list[str]:
    """The revisions that a server names when it does not speak ours."""
    if error.code != UnsupportedVersion.code:
        return []
    return as_list((as_object(error.data) or {}).get("supported")) or []
