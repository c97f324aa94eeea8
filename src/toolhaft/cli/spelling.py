"""How a TARGET is spelled."""


def parts_of(target: str) -> tuple[str, str]:
    """The file or module, and the name within it, which is empty if it is left out."""
    where, colon, name = target.rpartition(":")
    if not colon or "/" in name or "\\" in name:  # the colon of a drive is not ours
        return target, ""
    return where, name
