"""What a server offers: one module per part of the specification.

May import `schema` and `protocol`. Start with `tools`.
"""
