"""What clients are told of unexpected errors: by the setting of the server, or of one tool."""

from typing import Any, Literal

import pytest
from tests.asking import OLD, outcome

from toolhaft import Server, ToolInfo, tool

Setting = Literal["mask", "show"]
SECRET = "the password is 1234"


def leak() -> str:
    raise RuntimeError(SECRET)


async def told(server: Server, name: str = "leak", revision: str = OLD) -> str:
    result = await outcome(server, "tools/call", name=name, arguments={}, revision=revision)
    assert result["isError"] is True
    return str(result["content"][0]["text"])


@pytest.mark.parametrize("whole", ["mask", "show"])
async def test_a_tool_may_show_its_errors_whatever_the_server_does(whole: Setting) -> None:
    server = Server("errors", version="1", errors=whole)
    server.add_tool(leak, errors="show")

    assert await told(server) == f"tool 'leak' failed: RuntimeError: {SECRET}"


@pytest.mark.parametrize("whole", ["mask", "show"])
async def test_a_tool_may_mask_its_errors_whatever_the_server_does(whole: Setting) -> None:
    server = Server("errors", version="1", errors=whole)
    server.add_tool(leak, errors="mask")

    text = await told(server)

    assert text.startswith("tool 'leak' failed: RuntimeError (error ")
    assert SECRET not in text


async def test_the_log_has_the_error_under_its_id_either_way(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("errors", version="1")
    server.add_tool(leak, errors="show")

    await told(server)

    assert SECRET in caplog.text


async def test_the_setting_of_a_tool_holds_in_a_server_that_includes_it() -> None:
    inner, outer = Server("inner", version="1", errors="mask"), Server("outer", version="1")
    inner.add_tool(leak, errors="show")
    outer.include(inner, "in")

    assert SECRET in await told(outer, "in_leak")


async def test_marks_lists_and_updates_have_the_setting() -> None:
    class Leaking:
        @tool(errors="show")
        def marked(self) -> str:
            return leak()

        def tools(self) -> list[ToolInfo]:
            return [ToolInfo("listed", errors="show")]

        def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
            return leak() if name == "listed" else NotImplemented

    server = Server("errors", version="1", providers=[Leaking()])
    server.add_tool(leak)
    before = await told(server)
    server.tools["leak"].update(errors="show")

    assert SECRET not in before
    assert all([SECRET in await told(server, name) for name in ("marked", "listed", "leak")])


def test_a_setting_that_does_not_exist_is_refused() -> None:
    server = Server("errors", version="1")
    wrong: Any = "hide"

    with pytest.raises(ValueError, match=r"""tool 'leak': errors must be "mask" or "show"""):
        server.add_tool(leak, errors=wrong)
