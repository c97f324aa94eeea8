"""What every server has to know of questions, whether it asks or not: how they travel."""

from msgspec import UNSET, Raw, UnsetType

from .wire import Wire


class ElicitUrlParams(Wire, kw_only=True):
    """A page for the user to visit."""

    mode: str
    message: str
    url: str
    elicitation_id: str | UnsetType = UNSET


class ListRootsParams(Wire):
    """There is nothing to say."""


class InputRequest(Wire):
    """One question of a result that asks for more."""

    method: str
    params: Wire | Raw | UnsetType = UNSET


class InputRequiredResult(Wire, kw_only=True):
    """Instead of a result: what the client has to answer before there is one. If that is nothing,
    it is to come back."""

    input_requests: dict[str, InputRequest] | UnsetType = UNSET
    request_state: str
