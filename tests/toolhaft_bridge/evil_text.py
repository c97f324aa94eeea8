"""Text that a terminal would obey."""

# What must never reach a terminal. Tab and newline do.
OBEYED = [chr(code) for code in (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))]


OBEYED += list(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"
)


def obeyed(text: str) -> list[str]:
    return [repr(sign) for sign in OBEYED if sign in text]
