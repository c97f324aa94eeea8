"""JSON values checked against a JSON Schema, with messages that a model can act on.

May import `schema`. Start with `validator`.
"""
