from toolhaft import Server
from toolhaft.traffic import REDACTED, TrafficLog

log = TrafficLog("traffic.jsonl", redact=[*REDACTED, "pin"])
server = Server("bank", version="1.0.0", log_traffic=log)


@server.tool
def balance(account: str, pin: int) -> float:
    """What is in an account."""
    return 12.5
