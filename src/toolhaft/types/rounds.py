"""Types of questions that every server loads, even one that asks none (see `client_requests`)."""

from msgspec import UNSET, Raw, UnsetType

from .wire import Wire


class ElicitUrlParams(Wire, kw_only=True):
    """Parameters of `elicitation/create` in URL mode: a page for the user to visit."""

    mode: str
    message: str
    url: str
    elicitation_id: str | UnsetType = UNSET


class ListRootsParams(Wire):
    """Parameters of `roots/list`, which has none."""


class InputRequest(Wire):
    """One question in an `InputRequiredResult`."""

    method: str
    params: Wire | Raw | UnsetType = UNSET


class InputRequiredResult(Wire, kw_only=True):
    """Result of a round that needs answers from the client before the next one.

    Without `input_requests` the client repeats the call later.
    """

    input_requests: dict[str, InputRequest] | UnsetType = UNSET
    request_state: str
