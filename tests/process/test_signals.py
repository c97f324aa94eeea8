"""The first signal ends the service, a second one the process."""

import signal

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import LIFESPAN, seconds
from tests.processes.programs import LISTEN

BOTH_WAYS = pytest.mark.parametrize("how", ["run", "python"])


ENDS_SOON = 3.0  # the issue says one second


@BOTH_WAYS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("busy", ["idle", "waits", "sleeps"])
def test_a_signal_ends_the_process_as_the_end_of_input_does(
    serve: Serve, how: str, number: signal.Signals, busy: str
) -> None:
    server = serve(
        LIFESPAN
        + """
@server.tool
async def waits() -> str:
    say("working")
    try:
        await asyncio.Event().wait()
    finally:
        say("cleaned up")

@server.tool
def sleeps() -> str:
    say("working")
    time.sleep(60)
""",
        how,
    )
    if busy == "idle":
        server.hears("lifespan entered")
    else:
        server.call(1, busy)
        server.hears("working")

    server.signal(number)

    assert seconds(lambda: server.ends(ENDS_SOON)) < ENDS_SOON
    assert server.ends() == 0
    assert "Traceback" not in server.stderr
    assert "lifespan left" in server.stderr
    assert ("cleaned up" in server.stderr) == (busy == "waits")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_another_thread_receives_ends_the_process(
    serve: Serve, number: signal.Signals
) -> None:
    server = serve(
        f"""
        @server.tool
        def receives() -> str:
            time.sleep(0.3)  # by now the main thread waits for input, which nobody else can see
            signal.pthread_kill(threading.get_ident(), {int(number)})
            time.sleep(60)
        """
    )

    # The system may give a signal to any thread; nothing then interrupts the main one's waiting.
    server.call(1, "receives")

    assert server.ends(ENDS_SOON) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_the_process_at_once(serve: Serve, number: signal.Signals) -> None:
    server = serve(
        """
        limits = Limits(shutdown_seconds=50, finish_seconds=50)
        server = Server("tested", version="1.0.0", limits=limits)

        @server.tool
        async def waits() -> str:
            say("working")
            await asyncio.Event().wait()
        """
    )
    server.send(LISTEN)
    server.call(1, "waits")
    server.hears("working")
    server.signal(number)
    server.answer("listen")  # subscriptions complete: the first signal has been understood

    server.signal(number)

    assert server.ends(ENDS_SOON) in (128 + number, -number)
    assert "Traceback" not in server.stderr
