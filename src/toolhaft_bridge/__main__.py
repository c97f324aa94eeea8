"""`python -m toolhaft_bridge`: the same as the `toolhaft` command."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
