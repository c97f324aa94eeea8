"""The half of `Server` on which an author registers: tools, resources and prompts."""

from collections.abc import Callable, Sequence
from typing import Any, Never, TypeVar, Unpack, overload

from ..features.author_checks import check_options
from ..features.functions.described_arguments import Arg
from ..features.resources import Cache
from ..features.tools import ErrorSetting
from ..types.content import Annotations
from ..types.wire import Icon, Json, Meta
from .catalogue import Offers
from .handles import Handles, PromptHandle, ResourceHandle, ToolHandle
from .keywords import PromptOptions, ResourceOptions, ToolOptions, check_keywords

F = TypeVar("F", bound=Callable[..., Any])


class Registering:
    """What can be registered, by decorators or by calls, and the handles of what is."""

    def __init__(self, offers: Offers) -> None:
        self._offers = offers

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Let models call a function. Bare, or with keywords as in `add_tool`."""
        check_options("@server.tool", function, options, ToolOptions)

        def register(function: F) -> F:
            self.add_tool(function, **options)
            return function

        return register if function is None else register(function)

    def add_tool(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
        category: str | None = None,
        tags: Sequence[str] = (),
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
        args: Sequence[Arg] | None = None,
        input_schema: dict[str, Json] | None = None,
        output_schema: dict[str, Json] | None = None,
        strict: bool = False,
        errors: ErrorSetting | None = None,
        needs_session: bool = False,
        timeout: float | None = None,
        limit: int | None = None,
        cache: float = 0,
        thread: bool = True,
        run_on: Any = None,
        replace: bool = False,
        shared: bool = False,
        **unknown: Never,
    ) -> ToolHandle:
        """Register a tool. The handle removes, changes or disables it while it is served.

        Args:
            description: what the model reads; by default the docstring, without its sections.
            read_only: hint for clients: it changes nothing. Unset is not false, here and below.
            destructive: hint: it may overwrite or delete.
            idempotent: hint: to call it again changes nothing more.
            open_world: hint: it deals with the world outside.
            category: for clients that sort their tools; sent in `_meta`.
            tags: the same.
            args: the arguments, told one by one instead of by annotations.
            input_schema: a JSON Schema to publish and to check by, instead of the one made of the
                annotations. With it, the function may take `**arguments`.
            output_schema: the same for the result.
            strict: refuse "7" for an integer, and JSON in a string.
            errors: as in `Server`, for this tool alone: "mask" or "show".
            needs_session: refuse calls of clients that have no session, before the function runs.
            timeout: seconds after which the call fails.
            limit: how many calls of this tool may run at once; more of them wait in line.
            cache: for how many seconds a client may keep the description of this tool.
            thread: a plain function runs on a thread; False runs it on the loop, which is quicker
                and right for functions that only compute.
            run_on: the event loop, or a function that takes functions, where it has to run.
            replace: take the place of a tool of the same name.
            shared: several parts of a program may register this function, all of them with
                `shared`. The options of the first count, and it stays until the handles of all of
                them were removed.

        Raises:
            TypeError: the function cannot be a tool; the message says what to change.
            ValueError: there is a tool of this name already, or a schema is not one.
        """
        check_keywords("add_tool()", unknown, Registering.add_tool)
        return self._offers.add_tool(
            function,
            name=name,
            title=title,
            description=description,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            open_world=open_world,
            category=category,
            tags=tags,
            icons=icons,
            meta=meta,
            args=args,
            input_schema=input_schema,
            output_schema=output_schema,
            strict=strict,
            errors=errors,
            needs_session=needs_session,
            timeout=timeout,
            limit=limit,
            cache=cache,
            thread=thread,
            run_on=run_on,
            replace=replace,
            shared=shared,
        )

    def remove_tool(self, name: str) -> None:
        """Take a tool away. Raises KeyError if there is none of this name."""
        self.tools[name].remove()

    def resource(self, uri: str, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Let clients read what a function returns, under a URI or a template of URIs. Keywords
        are as in `add_resource`."""
        if not isinstance(uri, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError('@server.resource needs a URI, as in @server.resource("notes://all")')
        check_options("@server.resource", None, options, ResourceOptions)

        def register(function: F) -> F:
            self.add_resource(function, uri, **options)  # pyright: ignore[reportArgumentType]
            return function

        return register

    def add_resource(
        self,
        function: Callable[..., Any],
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        icons: Sequence[Icon] = (),
        annotations: Annotations | None = None,
        meta: Meta | None = None,
        cache: float | Cache | None = None,
        raw: bool = False,
        timeout: float | None = None,
        limit: int | None = None,
        thread: bool = True,
        replace: bool = False,
        shared: bool = False,
        **unknown: Never,
    ) -> ResourceHandle:
        """Register a resource; a `{` in the URI makes it a template.

        Args:
            cache: for how many seconds a client may keep what it read; or a `Cache`.
            raw: give the variables as they were sent, with their percent escapes.
            timeout: as in `add_tool`, and so are the others.

        Raises:
            TypeError: the function's parameters are not the variables of the template.
            ValueError: the URI is no template, or is taken.
        """
        check_keywords("add_resource()", unknown, Registering.add_resource)
        return self._offers.add_resource(
            function,
            uri,
            name=name,
            title=title,
            description=description,
            mime_type=mime_type,
            size=size,
            icons=icons,
            annotations=annotations,
            meta=meta,
            cache=cache,
            raw=raw,
            timeout=timeout,
            limit=limit,
            thread=thread,
            replace=replace,
            shared=shared,
        )

    def remove_resource(self, uri: str) -> None:
        """Take a resource or a template away. Raises KeyError if there is none of this URI."""
        self.resources[uri].remove()

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...
    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """Let users pick messages that a function writes. Bare, or with keywords."""
        check_options("@server.prompt", function, options, PromptOptions)

        def register(function: F) -> F:
            self.add_prompt(function, **options)
            return function

        return register if function is None else register(function)

    def add_prompt(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
        timeout: float | None = None,
        limit: int | None = None,
        thread: bool = True,
        replace: bool = False,
        shared: bool = False,
        **unknown: Never,
    ) -> PromptHandle:
        """Register a prompt. Keywords are as in `add_tool`, and it raises what that raises."""
        check_keywords("add_prompt()", unknown, Registering.add_prompt)
        return self._offers.add_prompt(
            function,
            name=name,
            title=title,
            description=description,
            icons=icons,
            meta=meta,
            timeout=timeout,
            limit=limit,
            thread=thread,
            replace=replace,
            shared=shared,
        )

    def remove_prompt(self, name: str) -> None:
        """Take a prompt away. Raises KeyError if there is none of this name."""
        self.prompts[name].remove()

    @property
    def tools(self) -> Handles[ToolHandle]:
        """The handles of all tools that are registered, by name."""
        return self._offers.tool_handles

    @property
    def resources(self) -> Handles[ResourceHandle]:
        """The handles of all resources and templates that are registered, by URI."""
        return self._offers.resource_handles

    @property
    def prompts(self) -> Handles[PromptHandle]:
        """The handles of all prompts that are registered, by name."""
        return self._offers.prompt_handles
