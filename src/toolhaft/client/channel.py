"""Requests and their responses, to one server and from it: JSON-RPC over whichever transport.

Of what is said it knows what JSON-RPC says, and how a request is taken back and how its progress is
told. What a conversation is about is in `conversation.py`.
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from msgspec import UNSET

from ..errors import McpError, MethodNotFound
from .failures import BadAnswer, NoAnswer
from .json_shapes import Json, as_list, as_object, parsed
from .pending_requests import Waiting, key_of, named
from .transport import Transport
from .wire import Wire

T = TypeVar("T")
# Gets the method and the params of each notification.
Hear: TypeAlias = Callable[[str, Json], None]
# Gives the result of a request of the server's, by its method and params.
Answer: TypeAlias = Callable[[str, Json], Awaitable[Json]]
Progress: TypeAlias = Callable[[float, float | None, str | None], None]

_A_MOMENT = 0.05


class Channel:
    """What a client sends, and what it hears."""

    def __init__(
        self,
        transport: Transport,
        *,
        answer: Answer | None = None,
        hear: Hear | None = None,
        timeout: float | None = None,
        wire: Wire | None = None,
    ) -> None:
        self._transport = transport
        self._answer = answer
        self._hear = hear
        self.timeout = timeout
        self._wire = wire
        self._waiting = Waiting()
        self._progress: dict[Any, Progress] = {}
        # What is done beside, with the id of the server's request if it answers one.
        self._tasks: dict[asyncio.Task[None], Any] = {}
        self._listeners: list[Hear] = []
        # Why nothing more can be sent, or will come.
        self._failure: Exception | None = None

    async def reach(self) -> None:
        """Reach the server.

        Raises:
            NoAnswer, ServerGone: this does not work.
        """
        await self._awaited(self._transport.open(self._take, self._lost), "the server", None)

    async def end(self) -> None:
        """Leave."""
        await self._settle(list(self._tasks))
        await self._transport.close()
        await self._settle(list(self._tasks))

    # What is sent

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

    async def exchange_bytes(self, frame: bytes, message: Any, *, batches: bool) -> Any:
        """Any bytes, and the response: to their ids, or one that cannot say to what it is one."""
        with self._waiting.raw(message, batches=batches) as answer:
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
            self._on_notice(message["method"], as_object(message.get("params")) or {})

    def _on_notice(self, method: str, params: Json) -> None:
        if method == "notifications/progress":
            self._on_progress(params)
        elif method == "notifications/cancelled":
            for task, id_ in self._tasks.items():
                if id_ is not None and key_of(id_) == key_of(params.get("requestId")):
                    task.cancel()
        if self._hear is not None:
            self._hear(method, params)
        for listener in list(self._listeners):
            listener(method, params)

    def _on_progress(self, params: Json) -> None:
        told = self._progress.get(key_of(params.get("progressToken")))
        if told is not None:
            if "progress" not in params:
                raise BadAnswer(f"the server tells progress without `progress`: {params!r:.200}")
            told(params["progress"], params.get("total"), params.get("message"))

    def _lost(self, id_: Any, error: Exception) -> None:
        """No answer will come, to one request or to any."""
        if id_ is not None:
            self._waiting.lose(id_, error)
        else:
            self._failure = error
            self._waiting.lose_all(error)

    # What the server asks for, by a message

    async def _respond(self, request: Json) -> None:
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            result = await self.answer(request["method"], as_object(request.get("params")) or {})
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

    async def answer(self, method: str, params: Json) -> Json:
        """The result of a request of the server's.

        Raises:
            McpError: there is none.
        """
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
