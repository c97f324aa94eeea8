"""Parameters that are not arguments of the client: dependencies and HTTP headers."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import Any, TypeVar, overload

from msgspec import Struct

from ..type_checks import expect

T = TypeVar("T")


class Dependency(Struct, frozen=True):
    """A parameter that is filled by calling a function. Made by `Depends`."""

    function: Callable[..., Any]


@overload
def Depends(function: Callable[..., AsyncGenerator[T]], /) -> T: ...
@overload
def Depends(function: Callable[..., AsyncIterator[T]], /) -> T: ...
@overload
def Depends(function: Callable[..., Generator[T]], /) -> T: ...
@overload
def Depends(function: Callable[..., Iterator[T]], /) -> T: ...
@overload
def Depends(function: Callable[..., Coroutine[Any, Any, T]], /) -> T: ...
@overload
def Depends(function: Callable[..., T], /) -> T: ...
def Depends(function: Callable[..., Any], /) -> Any:
    """Fill a parameter with the result of a function.

    As a default, `db: Database = Depends(connect)`, or in an annotation,
    `db: Annotated[Database, Depends(connect)]`. The function is called once for each call, before
    the tool. It may be async, or yield its value and clean up afterwards. Its own parameters may be
    a `Context`, other dependencies, and arguments of the tool, by name.

    Raises:
        TypeError: it is not a function.
    """
    if not callable(function):
        raise TypeError(
            f"Depends(…) takes a function, not {type(function).__name__}; pass the function "
            "itself, and do not call it"
        )
    return Dependency(function)


# Characters of a header name beside letters and digits (RFC 9110, 5.6.2).
_MARKS = dict.fromkeys(map(ord, "!#$%&'*+-.^_`|~"))


class Header(Struct, frozen=True):
    """Fill a parameter with a header of the HTTP request: `Annotated[str, Header("X-Tenant")]`.

    Over stdio there are no headers: give the parameter a default, or only serve it over HTTP."""

    name: str

    def __post_init__(self) -> None:
        expect("Header", "name", self.name, str)
        plain = self.name.translate(_MARKS)
        if not self.name or (plain and not (plain.isascii() and plain.isalnum())):
            raise ValueError(
                f"Header({self.name!r}): the name of a header has letters, digits and signs such "
                'as "-", and neither spaces nor a colon, as in Header("X-Tenant")'
            )
