"""Contracts: what a server lists, and which changes break clients.

Start with `contract`.
"""
