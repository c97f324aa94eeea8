"""What is offered can change while it is served: handles, names, threads, and who hears of it."""

import inspect
import threading
from typing import Any, Literal

import pytest
from tests.asking import told
from tests.server.clients import CLIENTS, Connect, following

from toolhaft import Context, McpError, ResourceInfo, Server, ToolInfo, tool
from toolhaft.testing import Client, Heard

PATIENCE = 15
every_client = pytest.mark.parametrize("connect", CLIENTS.values(), ids=CLIENTS)


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def subtract(a: int, b: int) -> int:
    """Subtract."""
    return a - b


def serving() -> Server:
    """A server with one thing of each kind, so that clients are told of all lists."""
    server = Server("changing", version="1")
    server.add_tool(add)
    server.add_prompt(lambda: "hello", name="greet")
    server.add_resource(lambda: "text", "notes://one", name="one")
    return server


async def tools(client: Client) -> list[str]:
    return [tool.name for tool in await client.list_tools()]


async def heard_methods(heard: Heard, count: int) -> set[str]:
    return {(await heard.next()).method for _ in range(count)}


@every_client
async def test_a_live_client_hears_of_a_tool_that_is_added(connect: Connect) -> None:
    """E-14, E-46, L-15: lists may change while a client is connected."""
    server = serving()
    async with connect(server) as client, following(client) as heard:
        before = await tools(client)
        server.add_tool(subtract)

        assert before == ["add"]
        assert (await heard.next()).method == "notifications/tools/list_changed"
        assert await tools(client) == ["add", "subtract"]


@every_client
async def test_many_changes_are_one_piece_of_news(connect: Connect) -> None:
    server = serving()
    async with connect(server) as client, following(client, "notes://one") as heard:
        for number in range(50):
            server.add_tool(add, name=f"add{number}")
        server.resource_updated("notes://one")

        assert (await heard.next()).method == "notifications/tools/list_changed"
        assert (await heard.next()).method == "notifications/resources/updated"
        assert heard.so_far() == []


@every_client
async def test_a_change_from_another_thread_reaches_a_live_client(connect: Connect) -> None:
    server = serving()
    async with connect(server) as client, following(client) as heard:
        thread = threading.Thread(target=server.tools["add"].disable)
        thread.start()

        assert (await heard.next()).method == "notifications/tools/list_changed"
        assert await tools(client) == []
        thread.join()


@every_client
async def test_every_kind_can_be_changed_and_is_heard_of(connect: Connect) -> None:
    server = serving()
    async with connect(server) as client, following(client) as heard:
        server.prompts["greet"].disable()
        server.resources["notes://one"].remove()
        server.add_resource(lambda name: name, "notes://{name}", name="any")

        assert await heard_methods(heard, 2) == {
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
        }
        assert await client.list_prompts() == []
        [template] = await client.list_templates()
        assert template.uri_template == "notes://{name}"


@every_client
async def test_a_list_that_was_offered_is_empty_when_the_last_entry_is_gone(
    connect: Connect,
) -> None:
    """The client was told of the capability, so the method must not go away."""
    server = serving()
    async with connect(server) as client:
        server.remove_tool("add")
        server.remove_prompt("greet")
        server.remove_resource("notes://one")

        assert await client.list_tools() == []
        assert await client.list_prompts() == []
        assert await client.list_resources() == []
        assert await client.list_templates() == []


@every_client
async def test_what_was_offered_stays_a_capability_for_clients_that_come_later(
    connect: Connect,
) -> None:
    """A tool may come back, and a client that was not told of the list would not hear of it."""
    server = serving()
    server.remove_tool("add")
    async with connect(server) as client, following(client) as heard:
        assert await client.list_tools() == []

        server.add_tool(add)

        assert (await heard.next()).method == "notifications/tools/list_changed"


@every_client
async def test_a_name_of_a_list_that_is_empty_by_now_is_unknown(connect: Connect) -> None:
    server = serving()
    async with connect(server) as client:
        server.remove_tool("add")
        server.remove_prompt("greet")
        server.remove_resource("notes://one")

        with pytest.raises(McpError, match="unknown tool: 'add'") as tool_error:
            await client.call("add", a=1, b=2)
        with pytest.raises(McpError, match="unknown prompt: 'greet'") as prompt_error:
            await client.prompt("greet")
        with pytest.raises(McpError, match="resource not found"):
            await client.read("notes://one")
        assert (tool_error.value.code, prompt_error.value.code) == (-32602, -32602)


@every_client
async def test_a_list_is_empty_when_the_object_that_has_it_is_removed(connect: Connect) -> None:
    class Lists:
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo("echo")]

        def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
            return name

    inner, server = Server("inner", version="1"), Server("outer", version="1")
    inclusion = inner.include(Lists())
    server.include(inner, "in")
    async with connect(server) as client:
        before = await tools(client)
        inclusion.remove()

        assert before == ["in_echo"]
        assert await tools(client) == []


@every_client
async def test_completion_stays_when_the_last_argument_that_completes_is_gone(
    connect: Connect,
) -> None:
    server = serving()

    def paint(colour: Literal["red", "blue"]) -> str:
        return colour

    handle = server.add_prompt(paint)
    async with connect(server) as client:
        handle.remove()

        with pytest.raises(McpError, match="unknown prompt: 'paint'") as error:
            await client.complete("paint", "colour", "r")
        assert error.value.code == -32602


@every_client
async def test_a_tool_may_change_what_is_offered(connect: Connect) -> None:
    server = serving()

    @server.tool
    def grow(ctx: Context) -> str:
        ctx.server.add_tool(subtract)
        return "grown"

    async with connect(server) as client, following(client) as heard:
        await client.call("grow")

        assert (await heard.next()).method == "notifications/tools/list_changed"
        assert await client.call("subtract", a=3, b=1) == 2


# Handles


async def listed(server: Server) -> list[dict[str, Any]]:
    async with Client(server) as client:
        found: list[dict[str, Any]] = (await told(client, "tools/list"))["tools"]
        return found


async def names(server: Server) -> list[str]:
    return [tool["name"] for tool in await listed(server)]


async def call(server: Server, name: str, **arguments: Any) -> Any:
    async with Client(server) as client:
        return await told(client, "tools/call", name=name, arguments=arguments)


async def test_a_handle_removes_its_tool_once() -> None:
    server = serving()
    handle = server.add_tool(subtract)
    handle.remove()

    with pytest.raises(KeyError, match="no tool named 'subtract' any more"):
        handle.remove()
    assert await names(server) == ["add"]


async def test_a_handle_does_not_act_on_another_tool_of_the_same_name() -> None:
    server = serving()
    handle = server.add_tool(subtract)
    server.remove_tool("subtract")
    server.add_tool(subtract)

    with pytest.raises(KeyError, match="any more"):
        handle.remove()
    with pytest.raises(KeyError, match="any more"):
        handle.update(title="x")
    with pytest.raises(KeyError, match="any more"):
        handle.disable()
    assert await names(server) == ["add", "subtract"]


async def test_what_is_disabled_can_neither_be_seen_nor_used() -> None:
    server = serving()
    server.add_tool(subtract)
    server.tools["add"].disable()
    server.tools["add"].disable()
    refused = await call(server, "add", a=1, b=2)

    assert await names(server) == ["subtract"]
    assert refused == {"code": -32602, "message": "unknown tool: 'add'; there are subtract"}
    assert not server.tools["add"].enabled
    assert list(server.tools) == ["add", "subtract"]


async def test_what_is_enabled_again_has_its_old_place() -> None:
    server = serving()
    server.add_tool(subtract)
    handle = server.tools["add"]
    handle.disable()
    handle.enable()
    handle.enable()

    assert await names(server) == ["add", "subtract"]
    assert handle.enabled


def test_the_name_of_what_is_disabled_is_taken() -> None:
    server = serving()
    server.tools["add"].disable()

    with pytest.raises(ValueError, match="there is a tool 'add' already"):
        server.add_tool(add)


async def test_what_replaces_something_disabled_is_enabled_in_its_place() -> None:
    server = serving()
    server.add_tool(subtract)
    server.tools["add"].disable()
    server.add_tool(add, replace=True)

    assert await names(server) == ["add", "subtract"]


async def test_a_server_whose_tools_are_all_disabled_has_an_empty_list() -> None:
    server = serving()
    server.tools["add"].disable()

    assert await names(server) == []
    assert server.capabilities().tools


async def test_update_changes_what_is_given_and_nothing_else() -> None:
    server = serving()
    handle = server.add_tool(subtract, title="Minus", read_only=True)
    server.add_tool(add, name="last")
    handle.update(description="Take away.")
    [_, tool, _] = await listed(server)

    assert tool["name"] == "subtract"
    assert tool["description"] == "Take away."
    assert tool["title"] == "Minus"
    assert tool["annotations"] == {"readOnlyHint": True}


async def test_update_puts_another_function_under_the_same_name() -> None:
    server = serving()
    server.tools["add"].update(subtract)

    async with Client(server) as client:
        assert await client.call("add", a=3, b=1) == 2


async def test_an_update_that_is_refused_changes_nothing() -> None:
    server = serving()
    handle = server.tools["add"]

    with pytest.raises(TypeError, match="knows no 'colour'"):
        handle.update(colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="update cannot change name"):
        handle.update(name="plus")
    with pytest.raises(TypeError, match="title must be a str"):
        handle.update(title=3)  # type: ignore[arg-type]
    assert (await listed(server))[0]["description"] == "Add."


async def test_what_is_updated_while_it_is_disabled_stays_disabled() -> None:
    server = serving()
    handle = server.tools["add"]
    handle.disable()
    handle.update(title="Plus")

    assert await names(server) == []
    handle.enable()
    assert (await listed(server))[0]["title"] == "Plus"


async def test_resources_templates_and_prompts_have_handles_too() -> None:
    server = Server("s", version="1")
    direct = server.add_resource(lambda: "text", "notes://one", name="one")
    template = server.add_resource(lambda name: name, "notes://{name}", name="any")
    prompt = server.add_prompt(lambda: "hello", name="greet")
    direct.update(lambda: "other", mime_type="text/markdown")
    template.update(description="Any note.")
    prompt.update(title="Greet")
    async with Client(server) as client:
        read = await told(client, "resources/read", uri="notes://one")
        [shown] = (await told(client, "resources/templates/list"))["resourceTemplates"]
        [greeting] = (await told(client, "prompts/list"))["prompts"]

    assert read["contents"] == [
        {"uri": "notes://one", "text": "other", "mimeType": "text/markdown"}
    ]
    assert shown["description"] == "Any note."
    assert greeting["title"] == "Greet"
    assert list(server.resources) == ["notes://one", "notes://{name}"]
    assert server.resources["NOTES://one"].name == "notes://one"
    assert len(server.resources) == 2


def test_a_resource_can_be_removed_by_its_uri() -> None:
    """E-46: by the same string, template or not."""
    server = Server("s", version="1")
    server.add_resource(lambda: "text", "notes://one", name="one")
    server.add_resource(lambda name: name, "notes://{name}", name="any")
    server.remove_resource("notes://one")
    server.remove_resource("notes://{name}")

    with pytest.raises(KeyError, match="notes://one"):
        server.remove_resource("notes://one")
    assert list(server.resources) == []


async def test_a_tool_can_be_lent_for_the_length_of_a_block() -> None:
    """E-47: what counts references there is a `with` block here."""
    server = serving()
    with server.add_tool(subtract):
        during = await names(server)

    assert during == ["add", "subtract"]
    assert await names(server) == ["add"]


def test_what_was_removed_in_its_block_is_not_removed_again() -> None:
    server = serving()
    with server.add_tool(subtract) as handle:
        handle.remove()
        server.add_tool(subtract)

    assert list(server.tools) == ["add", "subtract"]


def test_a_duplicate_is_refused_and_keeps_the_first() -> None:
    """E-47: refused by default; replace=True replaces."""
    server = serving()

    with pytest.raises(ValueError, match=r"there is a tool 'add' already.*replace=True"):
        server.add_tool(subtract, name="add")


def test_a_handle_says_what_it_is() -> None:
    assert repr(serving().tools["add"]) == "<ToolHandle 'add'>"


def test_what_is_not_registered_has_no_handle() -> None:
    server = serving()

    with pytest.raises(KeyError, match="there is no tool named 'plus'"):
        server.tools["plus"]
    assert "plus" not in server.tools
    assert "add" in server.tools


def test_threads_that_change_a_server_together_lose_nothing() -> None:
    server = serving()

    def work(number: int) -> None:
        for step in range(20):
            handle = server.add_tool(add, name=f"add-{number}-{step}")
            handle.update(title="x")
            handle.disable()
            handle.enable()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(server.tools) == 1 + 8 * 20
    assert all(handle.enabled for handle in server.tools.values())


def test_what_is_no_function_cannot_take_the_place_of_one() -> None:
    with pytest.raises(TypeError, match="tool 'add': update takes a function, not 3"):
        serving().tools["add"].update(3)  # type: ignore[arg-type]


def test_what_replaced_something_outlives_it() -> None:
    class Adding:
        @tool
        def add(self) -> None: ...

    server = Server("changing", version="1")
    inclusion = server.include(Adding())
    with server.add_tool(add, replace=True) as first:
        second = server.add_tool(subtract, name="add", replace=True)
        inclusion.remove()
    with pytest.raises(KeyError, match="there is no tool named 'add' any more"):
        first.disable()

    assert list(server.tools) == ["add"]
    assert second.enabled


async def test_updates_from_several_threads_are_all_kept() -> None:
    """One waits in the middle of its update, while the other one begins."""
    server = Server("changing", version="1")
    handle = server.add_tool(add)
    begun, other = threading.Event(), threading.Event()

    class Slow:
        """A function whose signature takes its time."""

        @property
        def __signature__(self) -> inspect.Signature:
            begun.set()
            other.wait(0.2)
            return inspect.signature(subtract)

        def __call__(self, a: int, b: int) -> int:
            return a - b

    def describe() -> None:
        begun.wait(PATIENCE)
        handle.update(description="Calculate.")
        other.set()

    thread = threading.Thread(target=describe)
    thread.start()
    handle.update(Slow(), title="Slow")
    thread.join()

    async with Client(server) as client:
        (found,) = (await told(client, "tools/list"))["tools"]
        assert (found["title"], found["description"]) == ("Slow", "Calculate.")


@pytest.mark.parametrize("included", [False, True])
async def test_no_template_answers_for_a_resource_that_is_disabled(included: bool) -> None:
    """What is disabled is not found, whatever else its URI matches."""

    class Listing:
        def templates(self) -> list[ResourceInfo]:
            return [ResourceInfo("notes://{+path}")]

        def read_resource(self, uri: str) -> str:
            return "by a list"

    inner = Server("inner", version="1")
    handle = inner.add_resource(lambda: "direct", "notes://all", name="all")
    inner.add_resource(lambda name: f"template {name}", "notes://{name}", name="any")
    inner.include(Listing())
    server = inner
    if included:
        server = Server("outer", version="1")
        server.include(inner)
    handle.disable()
    async with Client(server) as client:
        hidden = await told(client, "resources/read", uri="NOTES://all")
        other = await client.read("notes://one")
        handle.enable()
        shown = await client.read("notes://all")

    assert (hidden["code"], hidden["data"]) == (-32602, {"uri": "NOTES://all"})
    assert (other, shown) == ("template one", "direct")


@every_client
async def test_resources_are_told_of_from_another_thread(connect: Connect) -> None:
    server = serving()
    async with connect(server) as client, following(client, "notes://one") as heard:
        thread = threading.Thread(target=server.resource_updated, args=("notes://one",))
        thread.start()
        notice = await heard.next()
        thread.join()

    assert (notice.method, notice.uri) == ("notifications/resources/updated", "notes://one")


def of_many(count: int) -> object:
    """An object with many marked methods."""
    return type(
        "Many", (), {f"tool{n}": tool(lambda self: "", name=f"t{n}") for n in range(count)}
    )()


@every_client
async def test_an_object_that_comes_and_goes_on_another_thread_is_there_as_a_whole_or_not_at_all(
    connect: Connect,
) -> None:
    """E-48, E-49: what is registered together appears together, and goes together."""
    server, many, done = serving(), of_many(40), threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            server.include(many).remove()

    thread = threading.Thread(target=come_and_go)
    async with connect(server) as client:
        thread.start()
        try:
            seen = {len(await tools(client)) for _ in range(60)}
        finally:
            done.set()
            thread.join()

    assert seen <= {1, 41}


async def test_another_function_does_not_rename_what_it_is_put_under() -> None:
    """Of tools, prompts and resources alike: what is not given stays."""
    server = Server("s", version="1")
    server.add_tool(add).update(subtract)
    server.add_prompt(hello).update(bye)
    server.add_resource(hello, "notes://one").update(bye)
    async with Client(server) as client:
        lists = [client.list_tools(), client.list_prompts(), client.list_resources()]
        names = [each.name for listed in lists for each in await listed]

    assert names == ["add", "hello", "hello"]


def hello() -> str:
    return "hello"


def bye() -> str:
    return "bye"
