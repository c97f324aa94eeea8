"""JSON-RPC messages as bytes: the envelope, the members of an object, bounds on its cost.

May import `errors`, `lazy_regex`, `types`. Start with `envelope`.
"""
