"""Python types, JSON Schema, and decoding between them. Independent of the protocol.

May import `encoding`, `errors`, `suggestions`. Start with `from_types` (type to schema) and
`codecs` (JSON to value).
"""
