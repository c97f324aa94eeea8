"""A client of MCP servers, over any transport, for the command line and the test kit.

May import `protocol`, `calls` and `process`. Start with `conversation`.
"""
