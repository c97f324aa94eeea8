"""All thirty tools on one server: `toolhaft run tests/realworld/server.py`."""

from tools import TOOLS

from toolhaft import Server

server = Server("realworld", version="1.0.0")
for tool in TOOLS:
    server.add_tool(tool)
