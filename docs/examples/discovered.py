from toolhaft import Server


class Thermostat:
    """A class that knows nothing of servers."""

    def __init__(self) -> None:
        self.target = 20

    def heat(self, to: int) -> str:
        """Set the temperature in degrees."""
        self.target = self._within(to)
        return f"heating to {self.target}"

    def status(self) -> str:
        """Tell the temperature that is set."""
        return f"{self.target} degrees"

    def reset(self) -> None:  # no docstring: not offered
        self.target = 20

    def _within(self, degrees: int) -> int:
        """Private: not offered."""
        return min(max(degrees, 5), 25)


server = Server("heating", version="1.0.0")
server.include(Thermostat(), discover=True)
