"""Calls that `toolhaft check` makes, and what it says of their results."""

from pathlib import Path

from tests.cli.checking.checks import checked, said

CALLED = """
    @server.tool(read_only=True, output_schema={"type": "object", "required": ["a"]})
    def right() -> dict[str, int]:
        return {"a": 1}

    @server.tool(read_only=True)
    def fails() -> int:
        raise ToolError("not without a file")

    @server.tool
    def acts() -> int:
        open("acted", "w").close()
        return 1

    @server.tool(read_only=True)
    def needs(a: int) -> int:
        open("acted", "w").close()
        return 1

    @server.resource("a://gone")
    def gone() -> str:
        raise LookupError("gone")

    @server.prompt
    def nothing() -> list[str]:
        return []
"""


def test_calls_are_made_only_if_asked_for(tmp_path: Path) -> None:
    assert said(checked(tmp_path, CALLED), "call", "empty") == []

    report = checked(tmp_path, CALLED, "--call")

    assert [each[:2] for each in said(report, "call", "result", "empty")] == [
        ("error", "resource a://gone"),
        ("warning", "tool fails"),
        ("warning", "prompt nothing"),
    ]
    assert not (tmp_path / "acted").exists()


def test_a_result_that_does_not_fit_is_found(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        async def twist(exchange, call):
            result = await call(exchange)
            is_call = exchange.method == "tools/call"
            return bytes(result).replace(b'{"x":1}', b'{"x":"1"}') if is_call else result

        server = Server("tested", version="1.0.0", middleware=[twist])

        @server.tool(read_only=True)
        def point() -> dict[str, int]:
            return {"x": 1}
        """,
        "--call",
    )

    [(level, where, what)] = said(report, "result")
    assert (level, where) == ("error", "tool point")
    assert "does not fit its schema: result.x" in what


def test_a_result_that_breaks_its_annotation_is_found(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        @server.tool(read_only=True)
        def point() -> dict[str, int]:
            return {"x": "one"}
        """,
        "--call",
    )

    [(level, where, what)] = said(report, "result", "call")
    assert (level, where) == ("error", "tool point")
    assert what.startswith("its result does not fit its schema: tool 'point' failed (error ")
    assert what.endswith("expected an integer, got a string")


def test_a_result_may_say_what_failures_say(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        @server.tool(read_only=True)
        def explain() -> str:
            return "its result is not what it promises"
        """,
        "--call",
    )

    assert said(report, "result", "call") == []
