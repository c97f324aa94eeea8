"""Plain functions are served again after bursts, and after calls that hang beyond their timeout."""

from tests.robustness.conftest import Opens
from tests.robustness.doors import Result

THREADS = 64
SOURCE = """
gate, released = threading.Event(), threading.Event()

@server.tool
def wait() -> str:
    gate.wait()
    return "waited"

@server.tool
async def open_gate() -> None:
    gate.set()

@server.tool(timeout=0.5)
def hang() -> None:
    released.wait()

@server.tool
async def release() -> None:
    released.set()
"""


def test_ordinary_calls_are_answered_after_a_burst_and_calls_that_hang(opens: Opens) -> None:
    door = opens(SOURCE)
    burst = [door.begin("wait") for _ in range(600)]
    door.call("open_gate")
    assert {each.result() for each in burst} == {Result("waited", is_error=False)}

    hung = [door.begin("hang") for _ in range(THREADS)]
    overdue = Result("tool 'hang' took longer than 0.5 s", is_error=True)
    assert {each.result() for each in hung} == {overdue}

    calls = [door.begin("add", a=1, b=2) for _ in range(20)]
    assert {each.result() for each in calls} == {Result("3", is_error=False)}

    door.call("release")
    door.works()
