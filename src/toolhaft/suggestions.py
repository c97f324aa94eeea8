"""A name that nobody knows, and the one that was probably meant."""

from collections.abc import Iterable

# Whoever says a longer name has not mistyped one.
_LONGEST_NAME = 200


def unknown_keyword(what: str, name: str, known: Iterable[str]) -> str:
    """That something takes no such keyword, which one was meant, and which there are.

    Args:
        what: who was told it, as in `run()`.
    """
    names = list(known)
    near = near_name(name, names)
    meant = "" if near is None else f"did you mean {near!r}? "
    return f"{what} knows no {name!r}; {meant}it takes {', '.join(names)}"


def near_name(name: str, known: list[str]) -> str | None:
    """The name that was probably meant."""
    if len(name) > _LONGEST_NAME:
        return None
    plain = _plain(name)
    for other in known:
        if _plain(other) == plain:
            return other
    for other in known:
        if abs(len(name) - len(other)) <= 2 and _differ_little(name, other):
            return other
    return None


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _differ_little(one: str, other: str) -> bool:
    """Is all that is between the same beginning and the same end at most two characters?"""
    if len(one) <= 2 or len(other) <= 2:
        return False
    same, shorter = 0, min(len(one), len(other))
    while same < shorter and one[same] == other[same]:
        same += 1
    one, other = one[same:], other[same:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return len(one) <= 2 and len(other) <= 2
