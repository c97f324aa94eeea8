from toolhaft import Accepted, Context, Elicit, InputRequired, Server

server = Server("quiz", version="1.0.0")


@server.tool
async def guess(ctx: Context) -> str | InputRequired:
    """Handle the rounds yourself."""
    answer = ctx.answers.get("number")
    if answer == Accepted(7):
        return f"Right, after {ctx.state} tries."
    tries = (ctx.state or 0) + 1
    return InputRequired({"number": Elicit("Guess a number.", int)}, state=tries)
