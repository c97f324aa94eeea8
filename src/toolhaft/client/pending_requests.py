"""Who waits for which response."""

import asyncio
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, TypeAlias

from .json_shapes import Json, as_list, as_object, is_silent

Answer: TypeAlias = asyncio.Future[Any]


def key_of(id_: Any) -> Any:
    """An id among others: to Python, True is 1, and so is 1.0."""
    return type(id_), id_ if isinstance(id_, str | int | float) else repr(id_)


def named(message: Json) -> str:
    """A request, as an error names it."""
    params = as_object(message.get("params")) or {}
    about = params.get("name", params.get("uri"))
    method = str(message.get("method"))
    return method if about is None else f"{method} {about!r}"


class Waiting:
    """Answers that have not come yet."""

    def __init__(self) -> None:
        self._named: dict[Any, Answer] = {}
        # Messages as they are may get a response that cannot say to what it is one. It is for the
        # first that has no id either, else for the first that has.
        self._raw: list[Answer] = []
        self._raw_with_id: list[Answer] = []
        self._batches: list[_Batch] = []
        self._watching: list[Answer] = []

    @contextmanager
    def request(self, message: Json) -> Generator[Answer]:
        """Wait for the response to a request."""
        key = key_of(message["id"])
        if key in self._named:
            raise ValueError(
                f"{named(message)}: another request with the id {message['id']!r} is under way"
            )
        answer = self._named[key] = asyncio.get_running_loop().create_future()
        try:
            yield answer
        finally:
            del self._named[key]

    @contextmanager
    def raw(self, message: Any, *, batches: bool) -> Generator[Answer]:
        """Wait for whatever answers to a message, which may be none at all.

        Args:
            batches: the server knows them; who does not refuses the whole of one, by one error.
        """
        request = as_object(message) or {}
        if "id" in request:
            with self.request(request) as answer, _among(self._raw_with_id, answer):
                yield answer
            return
        answer = asyncio.get_running_loop().create_future()
        parts = as_list(message)
        if parts is None:
            with _among(self._raw, answer):
                yield answer
            return
        batch = _Batch(parts, answer, refusals=_unreadable(parts) if batches else 0)
        with _among(self._raw, answer), _among(self._batches, batch):
            yield answer

    def sent(self, answer: Answer) -> None:
        """The message of this answer has been sent, which over HTTP includes what came back."""
        for batch in self._batches:
            if batch.answer is answer:
                batch.sent()

    @contextmanager
    def failure(self) -> Generator[Answer]:
        """Never has a result, but fails as soon as no answer will come to anybody."""
        watching: Answer = asyncio.get_running_loop().create_future()
        with _among(self._watching, watching):
            yield watching

    def take(self, response: Json) -> None:
        """Give a response to who waits for it. One that comes too late is nobody's."""
        found = self._named.get(key_of(response.get("id")))
        if found is None and any(batch.took(response) for batch in self._batches):
            return
        if found is None and response.get("id") is None:
            pending = (each for each in [*self._raw, *self._raw_with_id] if not each.done())
            found = next(pending, None)
            if any(batch.took_refusal(response, found) for batch in self._batches):
                return
        if found is not None and not found.done():
            found.set_result(response)

    def take_batch(self, messages: list[Any]) -> bool:
        """Give the responses to a batch to who has sent it; False if nobody has."""
        return any(batch.took_all(messages) for batch in self._batches)

    def lose(self, id_: Any, error: Exception) -> None:
        """No answer will come to one request."""
        _break([self._named.get(key_of(id_))], error)

    def lose_all(self, error: Exception) -> None:
        """No answer will come to any."""
        _break([*self._named.values(), *self._raw, *self._watching], error)


class _Batch:
    """Requests that were sent together; they may be answered together, or one by one."""

    def __init__(self, parts: list[Any], answer: Answer, *, refusals: int) -> None:
        self._open = {key_of(each["id"]) for each in parts if _is_request(each)}
        # Errors without an id that are still to come.
        self._refusals = refusals
        self._responses: list[Any] = []
        self.answer = answer
        self._is_sent = False

    def sent(self) -> None:
        """All of it, and what comes one by one has come."""
        self._is_sent = True
        self._look_for_refusal()

    def took(self, response: Json) -> bool:
        """Is this one of the answers?"""
        key = key_of(response.get("id"))
        if key not in self._open or self.answer.done():
            return False
        self._open.remove(key)
        self._gather(response)
        return True

    def took_refusal(self, response: Json, answer: Answer | None) -> bool:
        """Is this the answer to a part that could not be read? One too many is to the whole."""
        if answer is not self.answer or not self._refusals:
            return False
        self._refusals -= 1
        self._gather(response)
        self._look_for_refusal()
        return True

    def _look_for_refusal(self) -> None:
        """One error without an id, where nothing else comes one by one, is to the whole."""
        is_alone = len(self._responses) == 1 and self._responses[0].get("id") is None
        if self._is_sent and is_alone and not self.answer.done():
            self.answer.set_result(self._responses[0])

    def _gather(self, response: Json) -> None:
        self._responses.append(response)
        if not self._open and not self._refusals:
            self.answer.set_result(self._responses)

    def took_all(self, messages: list[Any]) -> bool:
        """Are these the answers? What cannot be read is answered without an id."""
        responses = [each for each in messages if "method" not in (as_object(each) or {})]
        ids = [(as_object(each) or {}).get("id") for each in responses]
        is_own = any(id_ is None or key_of(id_) in self._open for id_ in ids)
        if not is_own or self.answer.done():
            return False
        self.answer.set_result(responses)
        return True


def _is_request(part: Any) -> bool:
    return (as_object(part) or {}).keys() >= {"method", "id"}


def _unreadable(parts: list[Any]) -> int:
    """How many have an answer that cannot say to what it is one."""
    return sum(not is_silent(each) and not _is_request(each) for each in parts)


@contextmanager
def _among(all_of_them: list[Any], one: Any) -> Generator[None]:
    all_of_them.append(one)
    try:
        yield
    finally:
        all_of_them.remove(one)


def _break(answers: Iterable[Answer | None], error: Exception) -> None:
    for answer in answers:
        if answer is not None and not answer.done():
            answer.set_exception(error)
