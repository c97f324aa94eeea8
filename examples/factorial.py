"""A class as a server: some calls are answered by a handler, the rest by the methods themselves."""

import math
from typing import Any

from toolhaft import Context, Server, ToolError, prompt, resource, tool

LARGEST = 1000


class Factorials:
    """Knows the small ones by heart, and works out the others."""

    def __init__(self) -> None:
        self.known = {0: 1, 1: 1, 2: 2, 3: 6, 4: 24}

    async def call_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> Any:
        """Asked before the methods: for what is known, there is nothing to do."""
        if name == "factorial" and arguments["n"] in self.known:
            return f"{arguments['n']}! = {self.known[arguments['n']]} (by heart)"
        return NotImplemented

    @tool(title="Factorial", read_only=True, thread=False)
    def factorial(self, n: int) -> str:
        """Multiply all whole numbers up to n.

        Args:
            n: not negative, and not beyond 1000
        """
        if not 0 <= n <= LARGEST:
            raise ToolError(f"n must be between 0 and {LARGEST}, not {n}")
        return f"{n}! = {math.factorial(n)}"

    @tool
    def learn(self, n: int) -> int:
        """Keep a factorial in mind, and say how many are."""
        if 0 <= n <= LARGEST:
            self.known[n] = math.factorial(n)
        return len(self.known)

    @resource("factorials://known", mime_type="application/json")
    def table(self) -> dict[str, int]:
        """All that are known by heart."""
        return {str(n): value for n, value in sorted(self.known.items())}

    @prompt
    def exercise(self, n: int = 5) -> str:
        """Let a model work one out."""
        return f"Work out {n}! step by step, then check it with the tool `factorial`."


server = Server("factorial", version="1.0.0", providers=[Factorials()])

if __name__ == "__main__":
    server.run()
