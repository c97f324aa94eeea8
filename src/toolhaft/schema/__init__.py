"""Python types, JSON Schema, and the words between them. Knows nothing of the protocol."""
