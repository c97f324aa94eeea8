"""Streamable HTTP as an ASGI application, and the shorter path that our own server class takes.

Start with `app`, then `endpoint`, then `post`.
"""
