"""The client side of Streamable HTTP.

Start with `streamable`.
"""
