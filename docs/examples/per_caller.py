from typing import Any

from toolhaft import Arg, Context, PromptInfo, ResourceInfo, Server, ToolInfo

PROJECTS = {"ada": ["engine", "notes"], None: ["demo"]}


class Projects:
    """Lists to each caller what is theirs."""

    def of(self, ctx: Context) -> list[str]:
        return PROJECTS[ctx.principal if ctx.principal in PROJECTS else None]

    def tools(self, ctx: Context) -> list[ToolInfo]:
        return [
            ToolInfo(f"build_{name}", f"Build {name}.", timeout=60, limit=1)
            for name in self.of(ctx)
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], ctx: Context) -> str:
        return f"{name.removeprefix('build_')} is built"

    def prompts(self, ctx: Context) -> list[PromptInfo]:
        project = Arg("project", str, enum=self.of(ctx))
        return [PromptInfo("review", "Review a project.", args=[project])]

    def get_prompt(self, name: str, arguments: dict[str, str]) -> str:
        return f"Review {arguments['project']}."

    def templates(self) -> list[ResourceInfo]:
        return [ResourceInfo("project://{name}/readme", complete={"name": self.names})]

    def names(self, typed: str) -> list[str]:
        return [name for name in PROJECTS[None] if name.startswith(typed)]

    def read_resource(self, uri: str, ctx: Context) -> str:
        return f"# {uri.split('/')[2]}"


server = Server("projects", version="1.0.0", providers=[Projects()])
