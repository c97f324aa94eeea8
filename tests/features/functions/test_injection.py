"""In which order dependencies are made, what each is given, and what is refused at registration."""

import functools
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Annotated, Any

import pytest

from toolhaft import Ask, Complete, Context, Depends, Header, Server
from toolhaft.features.functions.injection import DependencyPlan, plan_of
from toolhaft.features.functions.signature import Signature


def plan(function: Callable[..., Any]) -> DependencyPlan:
    return plan_of(Signature(function, "tool 'it'"))


def names(found: DependencyPlan) -> list[str]:
    return [dependency.function.__name__ for dependency in found.dependencies]


def base() -> int:
    return 1


def left(b: int = Depends(base)) -> int:
    return b


def right(b: Annotated[int, Depends(base)]) -> int:
    return b


# Order and sharing


def test_without_dependencies_there_is_no_supply() -> None:
    def it(a: int, ctx: Context) -> int:
        return a

    assert plan(it) == DependencyPlan([], {})


def test_dependencies_are_made_in_the_order_of_the_parameters() -> None:
    def one() -> int:
        return 1

    def two() -> int:
        return 2

    def it(x: int = Depends(two), y: int = Depends(one)) -> None: ...

    found = plan(it)

    assert names(found) == ["two", "one"]
    assert found.given == {"x": 0, "y": 1}


def test_what_a_dependency_needs_is_made_before_it() -> None:
    def it(x: int = Depends(left)) -> None: ...

    found = plan(it)

    assert names(found) == ["base", "left"]
    assert found.given == {"x": 1}
    assert found.dependencies[1].dependencies == {"b": 0}


def test_a_function_that_is_asked_for_twice_is_one_supply() -> None:
    def it(x: int = Depends(left), y: int = Depends(right), z: int = Depends(base)) -> None: ...

    found = plan(it)

    assert names(found) == ["base", "left", "right"]
    assert found.given == {"x": 1, "y": 2, "z": 0}
    assert found.dependencies[1].dependencies == found.dependencies[2].dependencies == {"b": 0}


def test_one_dependency_may_fill_two_parameters() -> None:
    def it(x: int = Depends(base), y: int = Depends(base)) -> None: ...

    found = plan(it)

    assert names(found) == ["base"]
    assert found.given == {"x": 0, "y": 0}


def test_a_diamond_of_many_layers_has_a_supply_for_each_function() -> None:
    made: Callable[..., int] = base
    for _ in range(50):

        def layer(a: int = Depends(made), b: int = Depends(made)) -> int:
            return a + b

        made = layer

    def it(x: int = Depends(made)) -> None: ...

    assert len(plan(it).dependencies) == 51


def test_methods_of_one_object_are_the_same_dependency() -> None:
    class Database:
        def session(self) -> int:
            return 1

    one, other = Database(), Database()

    def it(
        a: int = Depends(one.session),
        b: int = Depends(one.session),
        c: int = Depends(other.session),
    ) -> None: ...

    found = plan(it)

    assert found.given == {"a": 0, "b": 0, "c": 1}


def test_two_partials_are_two_dependencies() -> None:
    def connect(name: str) -> str:
        return name

    def it(
        a: str = Depends(functools.partial(connect, name="a")),
        b: str = Depends(functools.partial(connect, name="b")),
    ) -> None: ...

    assert plan(it).given == {"a": 0, "b": 1}


def test_plans_of_two_tools_share_nothing() -> None:
    def it(x: int = Depends(left)) -> None: ...

    assert plan(it).dependencies[0] is not plan(it).dependencies[0]


# What a dependency is given


def test_arguments_are_matched_by_name() -> None:
    def load(user: str, size: int) -> str:
        return user * size

    def it(size: int, user: str = "ann", x: str = Depends(load)) -> None: ...

    [dependency] = plan(it).dependencies

    assert dependency.arguments == {"user": "user", "size": "size"}


def test_arguments_reach_dependencies_of_dependencies() -> None:
    def inner(user: str) -> str:
        return user

    def outer(x: str = Depends(inner)) -> str:
        return x

    def it(user: str, x: str = Depends(outer)) -> None: ...

    inner_dependency, outer_dependency = plan(it).dependencies

    assert inner_dependency.arguments == {"user": "user"}
    assert outer_dependency.arguments == {}


def test_a_parameter_with_a_default_may_stay_unfilled() -> None:
    def load(size: int = 3, *, flag: bool = False) -> int:
        return size

    def it(x: int = Depends(load)) -> None: ...

    [dependency] = plan(it).dependencies

    assert (dependency.arguments, dependency.dependencies, dependency.contexts) == ({}, {}, [])


def test_an_argument_comes_before_the_default_of_a_dependency() -> None:
    def load(size: int = 3) -> int:
        return size

    def it(size: int = 5, x: int = Depends(load)) -> None: ...

    assert plan(it).dependencies[0].arguments == {"size": "size"}


def test_contexts_and_headers_are_given_by_annotation() -> None:
    def load(
        where: Context,
        other: Context | None = None,
        tenant: str = Header("X-Tenant"),  # type: ignore[assignment]
    ) -> str:
        return tenant

    def it(x: str = Depends(load)) -> None: ...

    [dependency] = plan(it).dependencies

    assert dependency.contexts == ["where", "other"]
    assert [(each.parameter.name, each.header.name) for each in dependency.headers] == [
        ("tenant", "X-Tenant")
    ]


def test_the_form_of_each_dependency_is_known() -> None:
    async def waits() -> int:
        return 1

    def generator() -> Generator[int]:
        yield 1

    async def async_generator() -> AsyncGenerator[int]:
        yield 1

    class Instance:
        async def __call__(self) -> int:
            return 1

    def it(
        a: int = Depends(base),
        b: int = Depends(waits),
        c: int = Depends(generator),
        d: int = Depends(async_generator),
        e: int = Depends(Instance()),
        f: int = Depends(functools.partial(waits)),
    ) -> None: ...

    call_styles = [dependency.call_style for dependency in plan(it).dependencies]

    assert call_styles == ["plain", "async", "generator", "async generator", "async", "async"]


@pytest.mark.parametrize(("dependency", "expected"), [(base, False), (left, False)])
def test_a_plan_of_plain_functions_does_not_wait(
    dependency: Callable[..., int], expected: bool
) -> None:
    def it(x: int = Depends(dependency)) -> None: ...

    assert plan(it).is_async is expected


def test_a_plan_waits_if_any_supply_does() -> None:
    async def deep() -> int:
        return 1

    def shallow(x: int = Depends(deep)) -> int:
        return x

    def it(x: int = Depends(shallow)) -> None: ...

    assert plan(it).is_async is True


def test_neither_dependencies_nor_contexts_nor_headers_are_in_the_schema() -> None:
    def it(
        ctx: Context,
        n: int,
        a: int = Depends(base),
        b: Annotated[int, Depends(base)] = 0,
        c: Annotated[str, Header("X-C")] = "",
    ) -> None: ...

    schema = Signature(it, "tool 'it'").schema

    assert schema["properties"] == {"n": {"type": "integer"}}
    assert schema["required"] == ["n"]


def test_a_dependency_may_be_of_a_type_that_json_cannot_carry() -> None:
    class Database:
        pass

    def connect() -> Database:
        return Database()

    def it(db: Annotated[Database, Depends(connect)]) -> None: ...

    assert names(plan(it)) == ["connect"]


# What is refused


@pytest.mark.parametrize("value", [None, 5, "connect", object()])
def test_only_functions_can_be_depended_on(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^Depends\(…\) takes a function, not "):
        Depends(value)


def test_a_parameter_that_nothing_fills_is_named() -> None:
    def connect(url: str) -> str:
        return url

    def it(n: int, db: str = Depends(connect)) -> None: ...

    with pytest.raises(TypeError) as raised:
        plan(it)

    assert str(raised.value) == (
        "tool 'it': dependency 'connect': nothing fills its parameter 'url'; name it after an "
        "argument of the tool, make it a Context or a Depends(…), or give it a default"
    )


def test_the_dependency_that_lacks_something_is_named_however_deep() -> None:
    def deep(url: str) -> str:
        return url

    def shallow(x: str = Depends(deep)) -> str:
        return x

    def it(x: str = Depends(shallow)) -> None: ...

    with pytest.raises(TypeError, match=r"dependency 'deep': nothing fills its parameter 'url'"):
        plan(it)


def test_what_another_dependency_fills_is_not_an_argument() -> None:
    def audit(db: int) -> int:
        return db

    def it(db: int = Depends(base), x: int = Depends(audit)) -> None: ...

    with pytest.raises(TypeError, match=r"'audit': nothing fills its parameter 'db'"):
        plan(it)


def _needs(name: str) -> Callable[..., Any]:
    """A function whose need is filled in later, as it takes for a circle."""

    def function(x: Any) -> Any:
        return x

    function.__name__ = name
    return function


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_circle_is_refused(length: int) -> None:
    ring = [_needs(f"member{n}") for n in range(length)]
    for function, needed in zip(ring, [*ring[1:], ring[0]], strict=True):
        function.__defaults__ = (Depends(needed),)  # type: ignore[attr-defined]

    def it(x: Any = Depends(ring[0])) -> None: ...

    with pytest.raises(TypeError) as raised:
        plan(it)

    assert str(raised.value) == (
        "tool 'it': dependency 'member0' depends on itself; take one of its dependencies away"
    )


def test_a_circle_that_does_not_hold_the_first_is_refused_too() -> None:
    one, two = _needs("one"), _needs("two")
    one.__defaults__ = (Depends(two),)  # type: ignore[attr-defined]
    two.__defaults__ = (Depends(one),)  # type: ignore[attr-defined]

    def entry(x: Any = Depends(one)) -> Any:
        return x

    def it(x: Any = Depends(entry)) -> None: ...

    with pytest.raises(TypeError, match=r"dependency 'one' depends on itself"):
        plan(it)


def test_a_tool_that_depends_on_itself_through_its_name_is_not_a_circle() -> None:
    def it(x: int = Depends(base)) -> int:
        return x

    def other(x: int = Depends(it)) -> int:
        return x

    assert names(plan(other)) == ["base", "it"]


def _positional(url: str, /) -> str:
    return url


def _many(*urls: str) -> tuple[str, ...]:
    return urls


def _context_without_annotation(ctx) -> Any:  # type: ignore[no-untyped-def]
    return ctx


class _Unbound:
    def method(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("dependency", "message"),
    [
        (_positional, r"dependency '_positional': parameter 'url' is positional-only"),
        (_many, r"dependency '_many': \*urls has no schema"),
        (_context_without_annotation, r"annotate 'ctx' as Context"),
        (_Unbound.method, r"dependency 'method': 'self' is not bound"),
        (max, r"dependency 'max': its parameters cannot be seen"),
    ],
)
def test_what_cannot_be_called_by_name_cannot_be_depended_on(
    dependency: Callable[..., Any], message: str
) -> None:
    def it(x: Any = Depends(dependency)) -> None: ...

    with pytest.raises(TypeError, match=message) as raised:
        plan(it)

    assert str(raised.value).startswith("tool 'it': ")


@pytest.mark.parametrize("kind", ["tool", "resource", "prompt"])
def test_mistakes_are_found_at_registration_and_nothing_is_registered(kind: str) -> None:
    server = Server("tested", version="1")

    def connect(url: str) -> str:
        return url

    def it(db: str = Depends(connect)) -> str:
        return db

    register: dict[str, Callable[[], Any]] = {
        "tool": lambda: server.add_tool(it),
        "resource": lambda: server.add_resource(it, "it://it"),
        "prompt": lambda: server.add_prompt(it),
    }

    with pytest.raises(TypeError, match=f"^{kind} 'it.*nothing fills its parameter 'url'"):
        register[kind]()

    capabilities = server.capabilities()
    assert not capabilities.tools
    assert not capabilities.resources
    assert not capabilities.prompts


# Notes that were not called


@pytest.mark.parametrize("note", [Header, Depends, Ask, Complete])
def test_a_note_without_its_parentheses_is_refused(note: Any) -> None:
    """It would be ignored, and the client asked for what it must not give."""

    def whoami(tenant: str) -> str:
        return tenant

    whoami.__annotations__["tenant"] = Annotated[str, note]

    with pytest.raises(
        TypeError, match=rf"'whoami': parameter 'tenant': {note.__name__} is not called; write "
    ):
        Server("s").add_tool(whoami)


@pytest.mark.parametrize("name", ["", "X Tenant", "X-Tenant:", "X-Ténant", "X-Tenant\n"])
def test_a_name_that_no_header_can_have_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"Header\(.*\): the name of a header has letters, digits"):
        Header(name)
