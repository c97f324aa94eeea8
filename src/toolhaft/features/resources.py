"""`resources/list`, `resources/templates/list` and `resources/read`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn, cast

from msgspec import UNSET, Struct

from ..errors import InvalidParams, NotFound, shown
from ..patterns import pattern
from ..protocol.calls import Exchange, Outcome
from ..protocol.revisions import Revision
from ..protocol.uritemplate import Template
from ..schema.kinds import write
from ..types.content import Annotations, BlobContents, ResourceContents, TextContents
from ..types.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
)
from ..types.resources import Resource as ResourceDescription
from ..types.resources import ResourceTemplate as TemplateDescription
from ..types.wire import CacheScope, Icon, Meta
from .authoring import check_cache, check_described
from .calling import Callee
from .content import Contents
from .registry import Registry, require
from .signature import BadArguments, Signature

# A value that climbs: a segment of dots, an absolute path, a drive, or a byte that ends a C string.
_CLIMBS = pattern(r"(?:^|[/\\])\.\.(?:[/\\]|$)|^[/\\~]|^[A-Za-z]:|\0")
_SCHEME = pattern(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTENTS = (TextContents, BlobContents)
_CONTENTS_LIKE = (*_CONTENTS, Contents, str, bytes)
_LONGEST_URI = 8192


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
        cache: Cache | None = None,
        raw: bool = False,
    ) -> None:
        what = f"resource {uri!r}"
        if not _SCHEME.match(uri):
            raise ValueError(f"{what}: a URI begins with a scheme, as in notes://all")
        check_described(
            what,
            title=title,
            description=description,
            mime_type=mime_type,
            size=size,
            icons=icons,
            meta=meta,
        )
        self.uri = uri
        self.name = name
        self.mime_type = mime_type
        self.cache = cache if cache is not None else Cache(0)
        self.raw = raw
        self.signature = Signature(function, what)
        self.callee = ready(self.signature)
        self.template = Template(uri) if "{" in uri else None
        _match_names(what, self.template, self.signature)
        if description is None:
            description = self.signature.documentation.description
        shared: dict[str, Any] = {
            "name": name,
            "title": UNSET if title is None else title,
            "description": UNSET if description is None else description,
            "mime_type": UNSET if mime_type is None else mime_type,
            "icons": list(icons) or UNSET,
            "annotations": UNSET if annotations is None else annotations,
            "meta": UNSET if meta is None else meta,
        }
        self.description: ResourceDescription | TemplateDescription
        if self.template is None:
            self.description = ResourceDescription(
                uri=uri, size=UNSET if size is None else size, **shared
            )
        else:
            self.description = TemplateDescription(uri_template=uri, **shared)


class Resources:
    """The resources and the templates of a server."""

    def __init__(
        self,
        direct: Registry[Resource],
        templates: Registry[Resource],
    ) -> None:
        self.direct = direct
        self.templates = templates

    def __len__(self) -> int:
        return len(self.direct) + len(self.templates)

    def list(self, exchange: Exchange) -> Outcome:
        """Answer `resources/list`."""
        require(self, "resources")
        return self.direct.page(exchange, _list)

    def list_templates(self, exchange: Exchange) -> Outcome:
        """Answer `resources/templates/list`."""
        require(self, "resources")
        return self.templates.page(exchange, _list_templates)

    def read(self, exchange: Exchange) -> Outcome:
        """Answer `resources/read`. Direct URIs come before templates, templates in order."""
        uri = exchange.params.uri
        resource, arguments = self._find(uri)
        return resource.callee.outcome(
            exchange, arguments, partial(_result, resource, uri), partial(_explain, uri)
        )

    def _find(self, uri: str) -> tuple[Resource, dict[str, Any]]:
        if len(uri) > _LONGEST_URI:
            raise InvalidParams(f"params.uri: at most {_LONGEST_URI} characters are read")
        direct = self.direct.get(key_of(uri))
        if direct is not None:
            return direct, direct.signature.bind_strings({})
        for resource in self.templates:
            assert resource.template is not None
            values = resource.template.match(uri, raw=resource.raw)
            if values is not None:
                return resource, _arguments(resource, values, uri)
        require(self, "resources")
        raise NotFound(f"resource not found: {shown(uri)}", uri=uri)


def _explain(uri: str, error: BaseException) -> NoReturn:
    """A function that raises NotFound need not repeat what was asked for."""
    if isinstance(error, NotFound) and error.data is UNSET:
        raise NotFound(error.message, uri=uri) from error
    raise error


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
    if unknown := variables - parameters:
        raise TypeError(
            f"{what}: the function has no parameter for {', '.join(sorted(unknown))}; add it, or "
            "take the variable out of the URI"
        )
    if missing := required - variables:
        raise TypeError(
            f"{what}: nothing fills the parameter {', '.join(sorted(missing))}; put it into the "
            "URI as {" + sorted(missing)[0] + "}, or give it a default"
        )


def _arguments(resource: Resource, values: dict[str, Any], uri: str) -> dict[str, Any]:
    meant: dict[str, Any] | None = values
    if resource.raw and resource.template is not None:
        meant = resource.template.match(uri)  # whatever the function makes of them in the end
    for parameter in resource.signature.parameters:
        value = (values if meant is None else meant).get(parameter.name)
        given = [value] if isinstance(value, str) else value or []
        if not parameter.unsafe and any(_CLIMBS.search(text) for text in given):
            raise NotFound(f"resource not found: {shown(uri)}", uri=uri)
    try:
        return resource.signature.bind_strings(values)
    except BadArguments as error:
        raise InvalidParams("; ".join(error.problems), data={"uri": uri}) from None


def _result(resource: Resource, uri: str, value: Any) -> ReadResourceResult:
    kind = cast(Any, type(value))
    if resource.signature.returns is str and not issubclass(kind, str):
        raise TypeError(f"it is annotated to return str, but returned {kind.__name__}")
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
    """The answer keeps the client's spelling of the URI."""
    if isinstance(value, _CONTENTS):
        return value
    if isinstance(value, Contents):
        return value.contents(uri, resource.mime_type)
    if isinstance(value, str | bytes | bytearray | memoryview):
        return Contents(cast(str | bytes, value)).contents(uri, resource.mime_type)
    mime = resource.mime_type or "application/json"
    return TextContents(uri=uri, text=write(value).decode(), mime_type=mime)
