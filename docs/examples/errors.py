from toolhaft import InvalidParams, Server, ToolError

server = Server("bank", version="1.0.0")

BALANCE = {"savings": 100}


@server.tool
def withdraw(account: str, amount: int) -> int:
    """Take money out of an account."""
    if account not in BALANCE:
        raise InvalidParams(f"there is no account {account!r}")
    if amount > BALANCE[account]:
        raise ToolError(f"only {BALANCE[account]} left; ask for less")
    BALANCE[account] -= amount
    return BALANCE[account]


@server.tool
def audit() -> str:
    """Has a bug."""
    return str(1 / 0)
