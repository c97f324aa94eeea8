"""Requests as a client sends them, one function for each method: `requests.tools_list()`.

For tests of single messages, by `server.handle(…)` or `client.raw(…)`. Names of methods become
names of functions: `resources/templates/list` is `requests.resources_templates_list()`.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from ..client.request_meta import ALL_CAPABILITIES, envelope, opening
from ..protocol.revisions import NEWEST_HANDSHAKE, REVISIONS, SUPPORTED, Revision

Json: TypeAlias = dict[str, Any]
INFO: Json = {"name": "toolhaft.testing", "version": "1"}


class Requests:
    """Makes requests. Each has an id of its own."""

    def __init__(
        self, ids: Iterator[Any] | None = None, meta: Callable[[], Json] | None = None
    ) -> None:
        self._ids = ids if ids is not None else itertools.count(1)
        self._meta = meta

    def of(self, revision: str) -> "Requests":
        """The same for another revision: with what its requests have to say of their client."""
        meta = envelope(_row(revision), ALL_CAPABILITIES, INFO)
        return Requests(self._ids, lambda: meta)

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Json:
        """Any request."""
        message: Json = {"jsonrpc": "2.0", "id": next(self._ids), "method": method}
        said = self._meta() if self._meta is not None else {}
        given: Json = msgspec.to_builtins(dict(params or {}))
        if said:
            given["_meta"] = {**said, **given.get("_meta", {})}
        return {**message, "params": given} if given else message

    def initialize(self, revision: str | None = None) -> Json:
        """The handshake; by default of the newest revision that has one."""
        row = NEWEST_HANDSHAKE if revision is None else _row(revision)
        return self.request("initialize", opening(row, ALL_CAPABILITIES, INFO))

    def ping(self) -> Json:
        """`ping`."""
        return self.request("ping")

    def server_discover(self) -> Json:
        """`server/discover`."""
        return self.request("server/discover")

    def tools_list(self, cursor: str | None = None) -> Json:
        """`tools/list`, or a further page of it."""
        return self._list("tools/list", cursor)

    def tools_call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Json:
        """`tools/call`."""
        return self.request("tools/call", _named(name, arguments))

    def resources_list(self, cursor: str | None = None) -> Json:
        """`resources/list`, or a further page of it."""
        return self._list("resources/list", cursor)

    def resources_templates_list(self, cursor: str | None = None) -> Json:
        """`resources/templates/list`, or a further page of it."""
        return self._list("resources/templates/list", cursor)

    def resources_read(self, uri: str) -> Json:
        """`resources/read`."""
        return self.request("resources/read", {"uri": uri})

    def resources_subscribe(self, uri: str) -> Json:
        """`resources/subscribe`."""
        return self.request("resources/subscribe", {"uri": uri})

    def resources_unsubscribe(self, uri: str) -> Json:
        """`resources/unsubscribe`."""
        return self.request("resources/unsubscribe", {"uri": uri})

    def prompts_list(self, cursor: str | None = None) -> Json:
        """`prompts/list`, or a further page of it."""
        return self._list("prompts/list", cursor)

    def prompts_get(self, name: str, arguments: Mapping[str, str] | None = None) -> Json:
        """`prompts/get`."""
        return self.request("prompts/get", _named(name, arguments))

    def completion_complete(
        self,
        reference: str,
        argument: str,
        value: str = "",
        given: Mapping[str, str] | None = None,
    ) -> Json:
        """`completion/complete`, of an argument of a prompt, or of a variable of a template.

        Args:
            reference: the name of the prompt, or the URI of the template.
            given: the arguments that are known already.
        """
        return self.request("completion/complete", completing(reference, argument, value, given))

    def logging_set_level(self, level: str) -> Json:
        """`logging/setLevel`."""
        return self.request("logging/setLevel", {"level": level})

    def subscriptions_listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Sequence[str] = (),
    ) -> Json:
        """`subscriptions/listen`."""
        wishes = wished(tools=tools, prompts=prompts, resources=resources, uris=uris)
        return self.request("subscriptions/listen", {"notifications": wishes})

    def _list(self, method: str, cursor: str | None) -> Json:
        return self.request(method, None if cursor is None else {"cursor": cursor})


def _row(revision: str) -> Revision:
    if revision not in REVISIONS:
        raise ValueError(f"no such revision: {revision!r}; there are {', '.join(SUPPORTED)}")
    return REVISIONS[revision]


def _named(name: str, arguments: Mapping[str, Any] | None) -> Json:
    return {"name": name} if arguments is None else {"name": name, "arguments": arguments}


def completing(reference: str, argument: str, value: str, given: Mapping[str, str] | None) -> Json:
    """The params of `completion/complete`."""
    is_template = "://" in reference or "{" in reference
    ref = {"type": "ref/resource", "uri": reference}
    params: Json = {
        "ref": ref if is_template else {"type": "ref/prompt", "name": reference},
        "argument": {"name": argument, "value": value},
    }
    return params if given is None else {**params, "context": {"arguments": dict(given)}}


def wished(*, tools: bool, prompts: bool, resources: bool, uris: Sequence[str]) -> Json:
    """What a subscription wants to hear of."""
    lists = {"tools": tools, "prompts": prompts, "resources": resources}
    wishes: Json = {f"{name}ListChanged": True for name, wanted in lists.items() if wanted}
    return {**wishes, "resourceSubscriptions": list(uris)} if uris else wishes


requests = Requests()


def plain(method: str, params: Mapping[str, Any]) -> Json:
    """Params as JSON has them: dates, enums and structs of a test are written out.

    Raises:
        TypeError: they are no JSON.
    """
    try:
        found: Json = msgspec.to_builtins(dict(params))
    except TypeError as error:
        raise TypeError(f"{method}: the params {params!r:.200} are no JSON: {error}") from None
    return found
