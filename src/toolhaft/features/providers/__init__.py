"""The registry behind every list, and the objects that contribute to it.

May import `schema`, `protocol` and `features`. Start with `registry`.
"""
