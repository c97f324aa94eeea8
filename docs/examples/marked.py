from toolhaft import Server, prompt, resource, tool


class Counter:
    """Counts, and can say how far it is."""

    def __init__(self) -> None:
        self.value = 0

    @tool
    def count(self, by: int = 1) -> int:
        """Count on."""
        self.value += by
        return self.value

    @resource("counter://value")
    def current(self) -> str:
        return str(self.value)

    @prompt
    def ask(self, goal: int) -> str:
        """Ask a model to count up to a number."""
        return f"Call `count` until it says {goal}."


server = Server("counting", version="1.0.0", providers=[Counter()])
