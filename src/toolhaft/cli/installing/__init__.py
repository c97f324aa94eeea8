"""How a server gets into the configuration of a client, and out again.

Start with `installer`.
"""
