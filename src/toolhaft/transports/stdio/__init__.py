"""One client on stdin and stdout; `..pipes` reads and writes the bytes.

Start with `early_handshake`, which answers before asyncio is loaded.
"""
