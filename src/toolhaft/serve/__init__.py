"""The ways to start serving: stdio, HTTP, attach.

May import `server` and everything below. Start with `over_stdio` and `listener`.
"""
