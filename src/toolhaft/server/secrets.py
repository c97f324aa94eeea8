"""The secrets of a server, which seal the request state of calls over several rounds."""

import os
import time
from collections.abc import Sequence
from functools import partial
from typing import cast

from ..protocol.stateless import Sealer, Stateless
from ..types.wire import Implementation

Secret = str | bytes
# Environment variable with secrets, separated by spaces.
VARIABLE = "TOOLHAFT_SECRET"
# Minimum length of a secret, in bytes.
_SHORTEST = 16


def stateless(
    info: Implementation, secret: Secret | Sequence[Secret] | None, seconds: float
) -> Stateless:
    """Return the protocol rules of the stateless era, with a sealer for these secrets.

    Args:
        seconds: lifetime of a request state.

    Raises:
        TypeError: a secret is neither str nor bytes. The message does not contain it.
        ValueError: a secret is too short.
    """
    name, ring = _given(secret)
    for each in ring:
        if not isinstance(each, str | bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(each).__name__
            raise TypeError(f"secret must be a str or bytes, or several of them, not {kind}")
    secrets = [each.encode() if isinstance(each, str) else each for each in ring]
    if not secrets or any(len(each) < _SHORTEST for each in secrets):
        raise ValueError(f"{name}: expected at least {_SHORTEST} bytes that nobody can guess")
    return Stateless(info, partial(_seal, secrets, info.name, seconds))


def _seal(secrets: Sequence[bytes], audience: str, seconds: float) -> Sealer:
    from ..protocol.elicitation.request_state import Seal  # noqa: PLC0415
    from . import aes_gcm  # noqa: PLC0415

    return Seal(
        secrets,
        audience,
        seconds=seconds,
        clock=time.time,
        random=os.urandom,
        cipher=aes_gcm.find,
        refused=_log,
    )


def _given(secret: Secret | Sequence[Secret] | None) -> tuple[str, Sequence[Secret]]:
    """Return the secrets and the name of their source, for messages."""
    if secret is not None:
        return "secret", secret if isinstance(secret, list | tuple) else [cast(Secret, secret)]
    found = os.environ.get(VARIABLE, "").split()
    return VARIABLE, found or [os.urandom(32)]


def _log(reason: str) -> None:
    from logging import getLogger  # noqa: PLC0415

    getLogger(__name__).warning("refused a requestState: %s", reason)
