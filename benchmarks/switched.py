"""Runs the script of a server with one optimisation switched off.

    python switched.py NAME FILE SCRIPT [ARGUMENT...]

The replacement appends its name to the file when it is used. With `-` for a name nothing is
switched off, so that both sides of a comparison are started in the same way.
"""

import os
import sys

from switches import SWITCHES


def main() -> None:
    """Switch off, and become the script."""
    name, record, script = sys.argv[1:4]

    def report() -> None:
        with open(record, "a") as file:
            file.write(f"{name}\n")

    if name != "-":
        SWITCHES[name].apply(report)
    sys.argv[:] = sys.argv[3:]
    sys.path.insert(0, os.path.dirname(script))
    with open(script) as file:
        code = compile(file.read(), script, "exec")
    exec(code, {"__name__": "__main__", "__file__": script})


if __name__ == "__main__":
    main()
