"""Registration methods of `Server`: tools, resources and prompts."""

from collections.abc import Callable, Sequence
from typing import Any, Never, TypeVar, Unpack, overload

from ..features.author_checks import check_options
from ..features.functions.described_arguments import Arg
from ..features.resources import Cache
from ..features.tools import ErrorSetting
from ..types.content import Annotations
from ..types.wire import Icon, Json, Meta
from .catalogue import Catalogue
from .handles import Handles, PromptHandle, ResourceHandle, ToolHandle
from .keywords import PromptOptions, ResourceOptions, ToolOptions, check_keywords

F = TypeVar("F", bound=Callable[..., Any])


class Registration:
    """Base class of `Server`: decorators and methods that register entries, and their handles."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Register a function as a tool. Bare, or with keywords as in `add_tool`."""
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
            read_only: hint for clients: it changes nothing. None sends no hint, here and below.
            destructive: hint: it may overwrite or delete.
            idempotent: hint: repeated calls have no further effect.
            open_world: hint: it interacts with external systems.
            category: for clients that group tools; sent in `_meta`.
            tags: for clients that group tools; sent in `_meta`.
            args: descriptions of the arguments, instead of annotations.
            input_schema: a JSON Schema to publish and to validate with, instead of the one derived
                from annotations. With it, the function may take `**arguments`.
            output_schema: the same for the result.
            strict: refuse "7" for an integer, and JSON in a string.
            errors: as in `Server`, for this tool alone: "mask" or "show".
            needs_session: refuse calls of clients that have no session, before the function runs.
            timeout: seconds after which a call fails.
            limit: number of concurrent calls of this tool; further calls wait in a queue.
            cache: seconds for which a client may cache the description of this tool.
            thread: run a plain function in the thread pool; False runs it on the event loop, which
                is faster, and right for functions that only compute.
            run_on: the event loop on which it runs, or a function that runs functions elsewhere.
            replace: replace a tool of the same name.
            shared: several parts of a program may register this function, all of them with
                `shared`. The options of the first registration count, and the tool stays until all
                of its handles are removed.

        Raises:
            TypeError: the function cannot be a tool; the message says what to change.
            ValueError: there is a tool of this name already, or a schema is not one.
        """
        check_keywords("add_tool()", unknown, Registration.add_tool)
        return self._catalogue.add_tool(
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
        """Remove a tool. Raises KeyError if there is none of this name."""
        self.tools[name].remove()

    def resource(self, uri: str, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Register a function as a resource, under a URI or a URI template. Keywords are as in
        `add_resource`."""
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
            cache: seconds for which a client may cache the contents; or a `Cache`.
            raw: pass the variables as they were sent, with their percent escapes.
            timeout: as in `add_tool`, and so are the others.

        Raises:
            TypeError: the function's parameters are not the variables of the template.
            ValueError: the URI is no template, or is taken.
        """
        check_keywords("add_resource()", unknown, Registration.add_resource)
        return self._catalogue.add_resource(
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
        """Remove a resource or a template. Raises KeyError if there is none of this URI."""
        self.resources[uri].remove()

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...
    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """Register a function as a prompt. Bare, or with keywords as in `add_prompt`."""
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
        check_keywords("add_prompt()", unknown, Registration.add_prompt)
        return self._catalogue.add_prompt(
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
        """Remove a prompt. Raises KeyError if there is none of this name."""
        self.prompts[name].remove()

    @property
    def tools(self) -> Handles[ToolHandle]:
        """The handles of all registered tools, by name."""
        return self._catalogue.tool_handles

    @property
    def resources(self) -> Handles[ResourceHandle]:
        """The handles of all registered resources and templates, by URI."""
        return self._catalogue.resource_handles

    @property
    def prompts(self) -> Handles[PromptHandle]:
        """The handles of all registered prompts, by name."""
        return self._catalogue.prompt_handles
