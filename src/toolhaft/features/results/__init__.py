"""What functions return, and the content blocks that it becomes.

May import `schema`, `protocol` and `features`. Start with `rendering`.
"""
