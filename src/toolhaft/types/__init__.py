"""The data of the protocol: one model for all revisions.

May import nothing but msgspec. Start with `wire`, the base of every type; `tools` is typical.
"""
