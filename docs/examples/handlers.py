from typing import Any

from toolhaft import InvalidParams, Result, Server, Text, ToolError, tool


class Kitchen:
    """Decides call by call whether its handler or a method answers."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        dish = arguments["dish"]
        if dish == "soup":
            return "from the pot"  # a text
        if dish == "menu":
            return [Text("soup"), Text("salad")]  # several items
        if dish == "fugu":
            return Result(["not today", "and not tomorrow"], error=True)  # several, and an error
        if dish == "ice":
            raise ToolError("the freezer is broken")  # an error for the model, word for word
        if dish == "":
            raise InvalidParams("a dish has a name")  # an error of the protocol, -32602
        if dish == "nothing":
            return None  # no content at all
        return NotImplemented  # let the method cook it

    @tool(timeout=30)
    def cook(self, dish: str) -> str:
        """Cook a dish."""
        return f"{dish}, freshly made"


server = Server("kitchen", version="1.0.0", providers=[Kitchen()])
