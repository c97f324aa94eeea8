"""`ctx.session`: what tools keep for a client from one call to the next.

Values are kept as the text of their JSON: what is put in and what is taken out are copies, so two
calls at once never share a value that one of them alters.
"""

from collections.abc import Iterator, MutableMapping
from typing import Any, TypeVar, overload

import msgspec

from ..encoding.envelope import encode
from ..protocol.handshake import Session

T = TypeVar("T")
D = TypeVar("D")


class SessionData(MutableMapping[str, Any]):
    """A mapping that lives as long as the session of the client."""

    __slots__ = ("_data", "_session")

    def __init__(self, session: Session, data: dict[str, bytes]) -> None:
        self._session = session
        self._data = data

    @property
    def id(self) -> str | None:
        """The id of the session; over stdio there is one session, and it has none."""
        return self._session.id

    def __getitem__(self, key: str) -> Any:
        return msgspec.json.decode(self._data[key])

    def __setitem__(self, key: str, value: Any) -> None:
        try:
            encode({key: None})
            self._data[key] = encode(value)
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise TypeError(f"a session keeps what JSON can hold; {key!r}: {error}") from None
        self._session.changed = True

    def __delitem__(self, key: str) -> None:
        del self._data[key]
        self._session.changed = True

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._data))

    def __len__(self) -> int:
        return len(self._data)

    @overload
    def get(self, key: str, default: Any = None) -> Any: ...
    @overload
    def get(self, key: str, default: None = None, *, type: type[T]) -> T | None: ...
    @overload
    def get(self, key: str, default: D, *, type: type[T]) -> T | D: ...
    def get(  # pyright: ignore[reportIncompatibleMethodOverride]  # it takes more, not less
        self, key: str, default: Any = None, *, type: Any = Any
    ) -> Any:
        """A value, or the default. With a type, it comes back as one: a dataclass as what it was.

        Raises:
            TypeError: it is none of this type.
        """
        text = self._data.get(key)
        if text is None:
            return default
        try:
            return msgspec.json.decode(text, type=type)
        except msgspec.ValidationError as error:
            raise TypeError(f"session[{key!r}] is no {type}: {error}") from None
