"""Clients of a process that runs already: a Unix socket, and descriptors passed by the bridge.

Start with `host`, then `attached_client`.
"""
