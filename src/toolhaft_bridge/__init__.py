"""The stdio bridge into a living process. It imports nothing of toolhaft, so it starts at once.

It is a package of its own because importing any part of a package runs its `__init__`, and that of
toolhaft loads a library of which a bridge needs nothing.
"""
