from toolhaft import Context, Limits, Listener, Server

clock = Server("clock", version="1.0.0")
counter = Server("counter", version="2.0.0", limits=Limits(session_seconds=300))


@clock.tool
def minutes(hours: float) -> float:
    """How many minutes that is."""
    return hours * 60


@counter.tool
async def count(ctx: Context) -> int:
    """One more each time, in a session."""
    session = ctx.session
    if session is None:
        return 1
    session["count"] = number = session.get("count", 0, type=int) + 1
    return number


listener = Listener("127.0.0.1:8000", {"/clock": clock}, sessions="stateless")
listener.mount("/counter", counter, sessions="stateful")

if __name__ == "__main__":
    listener.run()
