"""The rules of MCP over HTTP: headers, status codes, server-sent events. No server, no framework.

May import `protocol`. Start with `rules`.
"""
