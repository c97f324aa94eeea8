"""asyncio and the outside world: what runs the calls, and what carries the bytes."""
