"""One client on stdin and stdout. The bytes themselves are read and written by `..pipes`.

Start with `early_handshake`, which answers before asyncio is loaded.
"""
