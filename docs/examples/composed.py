from toolhaft import Server


def make_git() -> Server:
    """A server that could also be served by itself."""
    git = Server("git", version="1.0.0")

    @git.tool
    def log(count: int = 10) -> str:
        """Show the last commits."""
        return f"{count} commits"

    @git.resource("repo://head")
    def head() -> str:
        return "main"

    return git


server = Server("everything", version="1.0.0")
server.include(make_git(), prefix="git")
