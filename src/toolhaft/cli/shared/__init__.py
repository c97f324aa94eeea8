"""What several sub-commands use: arguments, output, the session with a server.

Start with `server_session`.
"""
