"""The rules of the protocol as functions of values: no I/O, no clock, no randomness."""
