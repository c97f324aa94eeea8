"""Adding servers to the configuration of clients, and removing them.

Start with `installer`.
"""
