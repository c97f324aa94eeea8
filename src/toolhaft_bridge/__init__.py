"""The bridge between a client's stdio and an attached process. Imports nothing from `toolhaft`.

It is a separate package because importing a submodule of `toolhaft` would run
`toolhaft/__init__.py`, which loads code that a bridge does not need and delays its start.
"""
