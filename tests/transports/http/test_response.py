"""One HTTP response: a body of JSON, or a stream of events."""

import asyncio

from tests.transports.http.posting import new_client, new_server

from toolhaft import Context, Limits


async def test_a_quiet_call_is_answered_by_one_body() -> None:
    answer = await new_client().tool("echo", text="hello")

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json["result"]["resultType"] == "complete"
    assert answer.text == "hello"


async def test_the_length_of_a_body_is_told() -> None:
    answer = await new_client().tool("echo", text="hello")

    assert answer.headers["content-length"] == str(len(answer.body))


async def test_a_call_that_waits_and_says_nothing_is_answered_by_one_body() -> None:
    server = new_server()

    @server.tool
    async def waits() -> str:
        await asyncio.sleep(0)
        return "waited"

    answer = await new_client(server).tool("waits")

    assert (answer.headers["content-type"], answer.text) == ("application/json", "waited")


async def test_a_call_on_a_thread_is_answered_by_one_body() -> None:
    server = new_server()
    server.add_tool(lambda: "from a thread", name="threaded")

    answer = await new_client(server).tool("threaded")

    assert (answer.headers["content-type"], answer.text) == ("application/json", "from a thread")


async def test_a_call_that_reports_is_answered_by_a_stream() -> None:
    answer = await new_client().tool("chatty", meta={"progressToken": "t"}, id=7)

    progress, result = answer.messages
    assert answer.status == 200
    assert progress["method"] == "notifications/progress"
    assert (result["id"], result["result"]["content"][0]["text"]) == (7, "said")


async def test_a_stream_says_that_it_is_not_to_be_gathered() -> None:
    server = new_server()

    @server.tool
    async def slow(ctx: Context) -> str:
        await ctx.progress(1)
        await asyncio.sleep(0.01)
        return "said"

    answer = await new_client(server).tool("slow", meta={"progressToken": "t"})

    assert answer.headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }


async def test_events_of_a_stream_have_neither_ids_nor_retry() -> None:
    answer = await new_client().tool("chatty", meta={"progressToken": "t"})

    assert [(event.id, event.retry, event.name) for event in answer.events] == [
        (None, None, "message"),
        (None, None, "message"),
    ]


async def test_a_call_that_reports_to_nobody_is_answered_by_one_body() -> None:
    answer = await new_client().tool("chatty")

    assert (answer.headers["content-type"], answer.text) == ("application/json", "said")


async def test_a_quiet_call_that_takes_long_becomes_a_stream_that_says_we_are_here() -> None:
    server, go = new_server(limits=Limits(quiet_seconds=0.01)), asyncio.Event()

    @server.tool
    async def slow() -> str:
        await go.wait()
        return "at last"

    exchange = new_client(server).start_tool("slow")
    first = await exchange.event()
    go.set()
    result = await exchange.message()

    assert first.comment == "still here"
    assert result["result"]["content"][0]["text"] == "at last"
    assert (await exchange.answer()).is_stream


async def test_a_complete_stream_says_that_it_is_not_to_be_gathered() -> None:
    answer = await new_client().tool("chatty", meta={"progressToken": "t"})
    headers = {name: value for name, value in answer.headers.items() if name != "content-length"}

    assert headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }
