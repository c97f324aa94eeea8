"""Formats of strings that are validated, each with an example for error messages."""

import datetime
import decimal
import re
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple


def _like(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


_OCTET = r"(?a:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_LONGEST_IPV6 = len("0000:0000:0000:0000:0000:0000:255.255.255.255")
_is_ipv4 = _like(rf"{_OCTET}(?:\.{_OCTET}){{3}}")


def _is_date(text: str) -> bool:
    try:
        return bool(
            re.fullmatch(r"(?a)\d{4}-\d\d-\d\d", text) and datetime.date.fromisoformat(text)
        )
    except ValueError:
        return False


def _is_time(text: str) -> bool:
    match = re.fullmatch(
        r"(?a)([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?"
        r"(?:[zZ]|([+-])([01]\d|2[0-3]):([0-5]\d))",
        text,
    )
    if match is None or match[3] != "60":
        return match is not None
    # A leap second is the last second of a UTC day.
    offset = int(f"{match[4]}1") * (int(match[5]) * 60 + int(match[6])) if match[4] else 0
    return (int(match[1]) * 60 + int(match[2]) - offset) % 1440 == 1439


def _is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t") and _is_date(text[:10]) and _is_time(text[11:])


def _is_ipv6(text: str) -> bool:
    if len(text) > _LONGEST_IPV6:
        return False
    left, gap, right = text.partition("::")
    groups = [group for side in (left, right) if side for group in side.split(":")]
    size = len(groups)
    if groups and (right or not gap) and _is_ipv4(groups[-1]):
        groups.pop()
        size += 1
    return all(re.fullmatch("[0-9a-fA-F]{1,4}", group) for group in groups) and (
        size <= 7 if gap else size == 8
    )


# RFC 3986, with everything after the authority in one group. Unbounded quantifiers of the URI and
# email patterns are possessive (`++`, `*+`): backtracking information takes 100 bytes for each
# character, and far longer to record than to match.
_URI = (
    r"(?a)[A-Za-z][A-Za-z0-9+.-]*+:"
    r"(?://(?:(?:[\w.~!$&'()*+,;=:-]++|%[0-9A-Fa-f]{2})*+@)?"
    r"(?:\[[0-9A-Fa-f:.]++\]|(?:[\w.~!$&'()*+,;=-]++|%[0-9A-Fa-f]{2})*+)(?::\d*+)?(?=[/?#]|\Z)|(?!//))"
    r"(?:[\w.~!$&'()*+,;=:@/?-]++|%[0-9A-Fa-f]{2})*+"
    r"(?:#(?:[\w.~!$&'()*+,;=:@/?-]++|%[0-9A-Fa-f]{2})*+)?"
)
_EMAIL = (
    r"(?a)(?:[\w!#$%&'*+/=?^`{|}~-]++(?:\.[\w!#$%&'*+/=?^`{|}~-]++)*+"
    r"|\"(?:[^\"\\\s]++|\\.| )*+\")"
    r"@(?:(?!-)[A-Za-z0-9-]++(?<!-)(?:\.(?!-)[A-Za-z0-9-]++(?<!-))*+|\[[0-9A-Za-z:.]++\])"
)
_DURATION = (
    r"(?a)P(?:\d+W|(?=[\dT])(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?"
    r"(?:T(?=\d)(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)"
)
_UUID = "(?i:(?a:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))"


class Format(NamedTuple):
    """A format of strings: its description with an example, and its check."""

    words: str
    fits: Callable[[str], bool]
    target: Any = None  # the type that msgspec decodes from it


FORMATS = {
    "date-time": Format(
        "a date and time such as 2026-01-31T12:00:00Z", _is_date_time, datetime.datetime
    ),
    "date": Format("a date such as 1999-12-31", _is_date, datetime.date),
    "time": Format("a time such as 12:00:00Z", _is_time, datetime.time),
    "duration": Format("a duration such as PT1H30M", _like(_DURATION), datetime.timedelta),
    "uuid": Format("a UUID such as 123e4567-e89b-42d3-a456-426614174000", _like(_UUID), uuid.UUID),
    "email": Format("an email address such as ada@example.org", _like(_EMAIL)),
    "uri": Format("a URI such as https://example.org/page", _like(_URI)),
    "ipv4": Format("an IPv4 address such as 192.0.2.1", _is_ipv4),
    "ipv6": Format("an IPv6 address such as 2001:db8::1", _is_ipv6),
    # Not in JSON Schema: for `decimal.Decimal`, which msgspec decodes from any number.
    "decimal": Format("a decimal number such as 12.50", _like(r"(?s).*"), decimal.Decimal),
}
