"""The attach transport: a Unix socket in a running process, and descriptors from the bridge.

Start with `host`, then `attached_client`.
"""
