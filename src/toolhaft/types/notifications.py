"""Parameters of notifications, and of the requests that turn them on."""

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from .wire import Json, Meta, Params, Wire

LogLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
# In ascending order of severity, so that levels are compared by index.
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
    """Base of the parameters of every notification that the server sends."""

    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class Progress(Notice, kw_only=True):
    """Parameters of `notifications/progress`."""

    progress_token: int | str
    progress: float
    total: float | UnsetType = UNSET
    message: str | UnsetType = UNSET


class LogMessage(Notice, kw_only=True):
    """Parameters of `notifications/message`: a log entry for the client."""

    level: LogLevel
    data: Json
    logger: str | UnsetType = UNSET


class ResourceUpdated(Notice, kw_only=True):
    """Parameters of `notifications/resources/updated`, for a subscribed resource."""

    uri: str


class Cancelled(Notice, kw_only=True):
    """Parameters of `notifications/cancelled`, which either side may send."""

    request_id: int | str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class SetLevelParams(Params, kw_only=True):
    """Parameters of `logging/setLevel`: the lowest level to send."""

    level: LogLevel


class Wishes(Wire):
    """Kinds of change that a subscription covers: requested, or in the acknowledgement granted."""

    tools_list_changed: bool | UnsetType = UNSET
    prompts_list_changed: bool | UnsetType = UNSET
    resources_list_changed: bool | UnsetType = UNSET
    resource_subscriptions: list[str] | UnsetType = UNSET


class ListenParams(Params, kw_only=True):
    """Parameters of `subscriptions/listen`."""

    notifications: Wishes


class Acknowledged(Notice, kw_only=True):
    """Parameters of the acknowledgement, the first notification of a subscription."""

    notifications: Wishes
