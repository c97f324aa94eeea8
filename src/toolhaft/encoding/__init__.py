"""JSON-RPC messages as bytes: the envelope, the members of an object, bounds on what is read.

May import `errors`, `lazy_regex`, `types`. Start with `envelope`.
"""
