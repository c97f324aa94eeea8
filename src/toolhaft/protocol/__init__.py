"""The rules of the protocol as functions of values: no I/O, no clock, no randomness.

May import `encoding`, `types`, `errors`. Start with `peer`, which turns bytes into events and
results into bytes; `revisions` is the table of the facts of each revision.
"""
