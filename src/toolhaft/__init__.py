"""MCP servers in Python: the handle by which a language model holds your program."""
