"""`python -m toolhaft`: the same as the `toolhaft` command."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
