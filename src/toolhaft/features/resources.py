"""`resources/list`, `resources/templates/list` and `resources/read`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, cast

import msgspec
from msgspec import UNSET, Struct

from ..errors import InvalidParams, NotFound, shown
from ..lazy_regex import pattern
from ..protocol.calls import Exchange, Outcome, Subject
from ..protocol.calls import Result as Outgoing
from ..protocol.revisions import Revision
from ..protocol.uritemplate import Template
from ..schema.codecs import write_mended
from ..types.content import Annotations, BlobContents, ResourceContents, TextContents
from ..types.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
)
from ..types.resources import Resource as ResourceDescription
from ..types.resources import ResourceTemplate as TemplateDescription
from ..types.wire import CacheScope, Icon, Meta
from .author_checks import check_cache, check_described
from .functions.completers import Complete, Completes
from .functions.invocation import Callee
from .functions.signature import BadArguments, Signature
from .providers.handlers import CustomHandler, DecoratedMethod, Recipe, Route
from .providers.prefix import twin
from .providers.registry import Registry, require
from .results.content import Contents
from .type_checks import BYTES, valid_template, valid_uri

# A value that climbs: a segment of dots, an absolute path, a drive, or a byte that ends a C string.
_CLIMBS = pattern(r"(?:^|[/\\])\.\.(?:[/\\]|$)|^[/\\~]|^[A-Za-z]:|\0")
_CONTENTS = (TextContents, BlobContents)
_CONTENTS_LIKE = (*_CONTENTS, Contents, str, bytes)
_LONGEST_URI = 8192
# What to do about `**params` of a function whose URI fills none.
_NO_VARIABLES = "is filled by nothing: the URI has no variables; take it away, or put some in"


def key_of(uri: str) -> str:
    """The URI as it is looked up: the case of its scheme does not matter."""
    scheme, colon, rest = uri.partition(":")
    return scheme.lower() + colon + rest


class Cache(Struct, frozen=True):
    """For how long a client may keep what it read, and whether others may see it."""

    seconds: float
    scope: CacheScope = "private"

    def __post_init__(self) -> None:
        check_cache(self.seconds)
        if self.scope not in ("public", "private"):
            raise ValueError(f'Cache: scope is "public" or "private", not {self.scope!r}')

    @classmethod
    def of(cls, given: object, what: str) -> "Cache":
        """As an author may say it.

        Raises:
            TypeError: it is said in another way.
        """
        if isinstance(given, Cache):
            return given
        if given is None or isinstance(given, int | float):
            return cls(0 if given is None else given)
        raise TypeError(f"{what}: cache must be a number of seconds or Cache(…), not {given!r}")


class Resource:
    """Something that can be read under one URI, or under all that match a template."""

    def __init__(
        self,
        function: Callable[..., Any],
        uri: str,
        *,
        name: str,
        ready: Callable[[Signature], Callee],
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        icons: Sequence[Icon] = (),
        annotations: Annotations | None = None,
        meta: Meta | None = None,
        cache: float | Cache | None = None,
        raw: bool = False,
        custom: CustomHandler | None = None,
        has_method: bool = True,
        unknown: int = 0,
        complete: Mapping[str, Completes] | None = None,
    ) -> None:
        what = f"resource {uri!r}"
        check_described(
            what,
            name=name,
            title=title,
            description=description,
            mime_type=mime_type,
            size=size,
            icons=icons,
            annotations=annotations,
            meta=meta,
        )
        # A brace that is closed and never opened is a mistake, which a template tells.
        is_template = isinstance(uri, str) and ("{" in uri or "}" in uri)  # pyright: ignore[reportUnnecessaryIsInstance]
        self.uri = valid_template(what, uri) if is_template else valid_uri(what, uri)
        self.name = name
        self.mime_type = mime_type
        self.cache = Cache.of(cache, what)
        self.raw = raw
        self.template = Template(uri) if is_template else None
        self.signature = Signature(
            function, what, rest=_NO_VARIABLES if self.template is None else None
        )
        self.callee = ready(self.signature)
        # How it was made, for whoever makes it anew.
        self.recipe: Recipe | None = None
        # Is asked first, before the function; if that is not whole, there is none.
        self.custom = custom
        self._has_method = has_method
        # How much of the URI is a prefix, of which the handler knows nothing.
        self._unknown = unknown
        # The way of a call that has to go through another server.
        self.route: Route | None = None
        self.subject = Subject(uri)
        # All of its variables, each with what completes it, if that can be done.
        self.completers: dict[str, Complete | None]
        if has_method:
            _match_names(what, self.template, self.signature)
            self.completers = dict.fromkeys(self.template.variables if self.template else ())
            self.completers |= {each.name: each.completer for each in self.signature.parameters}
        else:
            self.completers = _completers(what, self.template, complete or {})
        if description is None:
            description = self.signature.documentation.description
        self.description = _description(
            self,
            size=size,
            name=name,
            title=title,
            description=description,
            mime_type=mime_type,
            icons=list(icons) or None,
            annotations=annotations,
            meta=meta,
        )

    def under(self, uri: str, route: Route | None) -> "Resource":
        """The same resource as another server offers it."""
        other = twin(self)
        other.uri, other.route, other.recipe = uri, route, None
        other.subject = Subject(uri, self.subject)
        other._unknown = self._unknown + len(uri) - len(self.uri)
        if isinstance(self.description, TemplateDescription):
            other.template = Template(uri)
            other.description = msgspec.structs.replace(self.description, uri_template=uri)
        else:
            other.description = msgspec.structs.replace(self.description, uri=uri)
        return other

    def own(self, uri: str) -> str:
        """The URI as a handler knows it."""
        return uri[self._unknown :]

    def match(self, uri: str) -> dict[str, Any] | None:
        """The arguments of the function, if the URI is one of this resource.

        Raises:
            NotFound: a value climbs out of where it belongs.
            InvalidParams: the URI is one, but a value in it does not fit.
        """
        if self.template is None:
            return self.signature.bind_strings({}) if key_of(uri) == key_of(self.uri) else None
        values = self.template.match(uri, raw=self.raw)
        if values is None:
            return None
        if self._has_method:
            return _arguments(self, values, uri)
        _must_not_climb(values.values(), uri)
        return {}


def _description(
    resource: Resource, *, size: int | None, **told: Any
) -> ResourceDescription | TemplateDescription:
    """The entry in the list. What nobody has told is left out; a template has no size."""
    known = {name: value for name, value in told.items() if value is not None}
    if resource.template is not None:
        return TemplateDescription(uri_template=resource.uri, **known)
    return ResourceDescription(uri=resource.uri, size=UNSET if size is None else size, **known)


class Resources:
    """The resources and the templates of a server."""

    def __init__(
        self,
        direct: Registry[Resource],
        templates: Registry[Resource],
    ) -> None:
        self.direct = direct
        self.templates = templates

    def __bool__(self) -> bool:
        return bool(self.direct) or bool(self.templates)

    def list(self, exchange: Exchange) -> Outcome:
        """Answer `resources/list`."""
        require(self, "resources")
        return self.direct.page(exchange, _list)

    def list_templates(self, exchange: Exchange) -> Outcome:
        """Answer `resources/templates/list`."""
        require(self, "resources")
        return self.templates.page(exchange, _list_templates)

    def read(self, exchange: Exchange, resource: Resource | None = None) -> Outcome:
        """Answer `resources/read`. Direct URIs come before templates, templates in order, and
        what is registered before what sources have.

        Args:
            resource: if it is known already which one is meant.
        """
        uri = exchange.params.uri
        if resource is not None and (arguments := resource.match(uri)) is not None:
            return _read(exchange, resource, arguments)
        if len(uri) > _LONGEST_URI:
            raise InvalidParams(f"params.uri: at most {_LONGEST_URI} characters are read")
        direct = self.direct.get(key_of(uri))
        if direct is not None:
            return _read(exchange, direct, direct.signature.bind_strings({}))
        if self.direct.is_taken(key_of(uri)):
            # By what is disabled, and is no business of templates.
            raise NotFound(f"resource not found: {shown(uri)}", uri=uri)
        for template in self.templates:
            arguments = template.match(uri)
            if arguments is not None:
                return _read(exchange, template, arguments)
        require(self, "resources")
        if self.direct.sources or self.templates.sources:
            return self._sought(exchange)
        raise self._unknown(uri)

    async def _sought(self, exchange: Exchange) -> Outgoing:
        uri = exchange.params.uri
        found = await self.direct.find(exchange, key_of(uri))
        candidates = [] if found is None else [found]
        if found is None:
            candidates += (await self.templates.source_items(exchange)).values()
        for resource in candidates:
            arguments = resource.match(uri)
            if arguments is not None:
                return await exchange.settle(_read(exchange, resource, arguments))
        raise self._unknown(uri)

    def _unknown(self, uri: str) -> NotFound:
        known = ", ".join(filter(None, (self.direct.some_names(), self.templates.some_names())))
        there = f"; there are {known}" if known else ""
        return NotFound(f"resource not found: {shown(uri)}{there}", uri=uri)


def _read(exchange: Exchange, resource: Resource, arguments: dict[str, Any]) -> Outcome:
    exchange.subject = resource.subject
    if resource.route is not None:
        return resource.route(exchange)
    uri = exchange.params.uri
    finish, failed = partial(_own_result, resource, uri), partial(_explain, uri)
    if resource.custom is None:
        return resource.callee.outcome(exchange, arguments, finish, failed)
    own = DecoratedMethod(resource.callee, arguments, finish)
    read = partial(_result, resource, uri)
    return resource.custom.outcome(exchange, (resource.own(uri),), own, read, failed)


def _explain(uri: str, error: BaseException) -> NoReturn:
    """A function that raises NotFound need not repeat what was asked for."""
    try:
        if isinstance(error, NotFound) and error.data is UNSET:
            raise NotFound(error.message, uri=uri) from error
        raise error
    finally:
        del error  # as in `unchanged`


def _list(resources: list[Resource], _revision: Revision) -> ListResourcesResult:
    return ListResourcesResult(
        resources=[
            resource.description
            for resource in resources
            if isinstance(resource.description, ResourceDescription)
        ],
        ttl_ms=0,
        cache_scope="public",
    )


def _list_templates(resources: list[Resource], _revision: Revision) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(
        resource_templates=[
            resource.description
            for resource in resources
            if isinstance(resource.description, TemplateDescription)
        ],
        ttl_ms=0,
        cache_scope="public",
    )


def _match_names(what: str, template: Template | None, signature: Signature) -> None:
    """A template's variables and the function's parameters have to be the same names."""
    variables = set(template.variables) if template is not None else set[str]()
    parameters = {parameter.name for parameter in signature.parameters}
    required = {parameter.name for parameter in signature.parameters if parameter.required}
    unknown = variables - parameters
    if unknown and not signature.has_rest:
        raise TypeError(
            f"{what}: the function has no parameter for {', '.join(sorted(unknown))}; add it, take "
            "**params, or take the variable out of the URI"
        )
    if missing := required - variables:
        raise TypeError(
            f"{what}: nothing fills the parameter {', '.join(sorted(missing))}; put it into the "
            "URI as {" + sorted(missing)[0] + "}, or give it a default"
        )


def _completers(
    what: str, template: Template | None, complete: Mapping[str, Completes]
) -> dict[str, Complete | None]:
    variables = () if template is None else template.variables
    for name in complete:
        if name not in variables:
            raise ValueError(f"{what}: complete has {name!r}, which is no variable of the template")
    return {name: Complete(complete[name]) if name in complete else None for name in variables}


def _arguments(resource: Resource, values: dict[str, Any], uri: str) -> dict[str, Any]:
    meant: dict[str, Any] | None = values
    if resource.raw and resource.template is not None:
        meant = resource.template.match(uri)  # whatever the function makes of them in the end
    unsafe = {each.name for each in resource.signature.parameters if each.unsafe}
    checked = values if meant is None else meant
    _must_not_climb([value for name, value in checked.items() if name not in unsafe], uri)
    try:
        return resource.signature.bind_strings(values)
    except BadArguments as error:
        raise InvalidParams("; ".join(error.problems), data={"uri": uri}) from None


def _must_not_climb(values: Iterable[Any], uri: str) -> None:
    for value in values:
        given: list[str] = [value] if isinstance(value, str) else value or []
        if any(_CLIMBS.search(text) for text in given):
            raise NotFound(f"resource not found: {shown(uri)}", uri=uri)


def _own_result(resource: Resource, uri: str, value: Any) -> ReadResourceResult:
    """What the function has read, which is held to its annotation."""
    kind = cast(Any, type(value))
    if resource.signature.returns is str and not issubclass(kind, str):
        raise TypeError(f"it is annotated to return str, but returned {kind.__name__}")
    return _result(resource, uri, value)


def _result(resource: Resource, uri: str, value: Any) -> ReadResourceResult:
    items: list[Any] = value if _are_contents(value) else [value]
    return ReadResourceResult(
        contents=[_contents(resource, uri, item) for item in items],
        ttl_ms=int(resource.cache.seconds * 1000),
        cache_scope=resource.cache.scope,
    )


def _are_contents(value: Any) -> bool:
    """Several contents, and not one value that happens to be a list."""
    if not isinstance(value, list):
        return False
    items = cast(list[object], value)
    return bool(items) and all(isinstance(item, _CONTENTS_LIKE) for item in items)


def _contents(resource: Resource, uri: str, value: Any) -> ResourceContents:
    """The answer keeps the client's spelling of the URI. Nothing is an empty text, as in a tool."""
    if value is None:
        value = ""
    if isinstance(value, _CONTENTS):
        return value
    if isinstance(value, Contents):
        return value.contents(uri, resource.mime_type)
    if isinstance(value, (str, *BYTES)):
        return Contents(cast(str | bytes, value)).contents(uri, resource.mime_type)
    mime = resource.mime_type or "application/json"
    return TextContents(uri=uri, text=write_mended(value).decode(), mime_type=mime)
