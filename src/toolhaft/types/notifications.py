"""Notifications, and the requests that ask for them."""

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from .wire import Json, Meta, Params, Wire

LogLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
# In order of weight, so that a level is compared by its place.
LEVELS: tuple[LogLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)


class Notice(Wire):
    """The parameters of any notification that we send."""

    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class Progress(Notice, kw_only=True):
    """How far a call is, for who asked to know."""

    progress_token: int | str
    progress: float
    total: float | UnsetType = UNSET
    message: str | UnsetType = UNSET


class LogMessage(Notice, kw_only=True):
    """A line of a server's log, for its client."""

    level: LogLevel
    data: Json
    logger: str | UnsetType = UNSET


class ResourceUpdated(Notice, kw_only=True):
    """A resource that a client follows has changed."""

    uri: str


class Cancelled(Notice, kw_only=True):
    """Sent by either side."""

    request_id: int | str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class SetLevelParams(Params, kw_only=True):
    """From which level on a client wants log messages."""

    level: LogLevel


class Wishes(Wire):
    """What a subscription wants to hear of; in the acknowledgement, what it will."""

    tools_list_changed: bool | UnsetType = UNSET
    prompts_list_changed: bool | UnsetType = UNSET
    resources_list_changed: bool | UnsetType = UNSET
    resource_subscriptions: list[str] | UnsetType = UNSET


class ListenParams(Params, kw_only=True):
    """What a subscription wants to hear of."""

    notifications: Wishes


class Acknowledged(Notice, kw_only=True):
    """What a subscription will hear of; its first notification."""

    notifications: Wishes
