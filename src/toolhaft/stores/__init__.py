"""Storage of sessions and their messages.

May import `protocol`.
"""
