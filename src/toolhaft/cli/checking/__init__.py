"""The rules of `toolhaft check`: what a server lists, and how it starts.

Start with `rules`.
"""

# Begins the lines that the process which loads a target writes for us.
MARK = "toolhaft-check-probe: "
