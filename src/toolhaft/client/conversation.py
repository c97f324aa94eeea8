"""A conversation with one server, in either era: how it begins, and what is asked on both sides.

A client of both eras: without a revision it asks what the server speaks (`server/discover`), and
falls back to the handshake if that is not understood.
"""

import asyncio
import itertools
import math
from typing import Any

from ..errors import McpError, UnsupportedVersion
from ..protocol.revisions import NEWEST_HANDSHAKE, REVISIONS, SUPPORTED, Revision
from ..protocol.stateless import SERVER_INFO
from .channel import Answer, Channel, Hear, Progress
from .failures import BadAnswer, ClientRefused, Refused
from .json_shapes import Json, as_list, as_object
from .request_meta import envelope, opening
from .responses import entries_of, questions_of, result_of
from .transport import Transport
from .wire import Wire

MOST_ROUNDS = 10
# Statuses that say who may come in; none that an older server gives to what it does not understand.
_CLOSED_DOORS = (401, 403)
_A_MOMENT = 0.05


class Conversation(Channel):
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
        super().__init__(transport, answer=answer, hear=hear, timeout=timeout, wire=wire)
        self._wanted = revision
        # What is said of us.
        self._info = info
        self._own = capabilities if capabilities is not None else {}
        self._level = level
        self._ids = itertools.count(1)

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
        await self.reach()
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
        await self.reach()
        self._transport.agreed(self.revision.date)

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
        self._know(result, (as_object(result.get("_meta")) or {}).get(SERVER_INFO))
        return as_list(result.get("supportedVersions")) or []

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
        self.capabilities = as_object(result.get("capabilities")) or {}
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

    async def exchange_raw(self, frame: bytes, message: Any) -> Any:
        """Any bytes, and the response: to their ids, or one that cannot say to what it is one."""
        return await self.exchange_bytes(frame, message, batches=self.revision.batches)

    # What the server asks for, in the answer to a request

    async def _answers(self, result: Json) -> Json:
        """What the next round says."""
        more: Json = {}
        if "requestState" in result:
            more["requestState"] = result["requestState"]
        requests = questions_of(result)
        if requests:
            more["inputResponses"] = {
                key: await self._answer_to(method, params)
                for key, (method, params) in requests.items()
            }
        else:  # it is not ready yet
            await asyncio.sleep(_A_MOMENT)
        return more

    async def _answer_to(self, method: str, params: Json) -> Json:
        try:
            return await self.answer(method, params)
        except McpError as error:
            words = f"this client refused {method}, and left the call: {error.message}"
            raise ClientRefused(words, code=error.code, data=error.data) from error


def _newest(offered: list[str]) -> Revision:
    """The newest revision that both sides speak; if there is none, a server may still offer one."""
    spoken = [REVISIONS[date] for date in SUPPORTED if date in offered]
    return spoken[0] if spoken else NEWEST_HANDSHAKE


def _offered(error: McpError) -> list[str]:
    """The revisions that a server names when it does not speak ours."""
    if error.code != UnsupportedVersion.code:
        return []
    return as_list((as_object(error.data) or {}).get("supported")) or []
