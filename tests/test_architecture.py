"""The shape of the source: which layer looks at which, how large things are, where things stand.

Everything is read from the text of the modules; nothing is imported.
"""

import ast
import functools
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.conftest import LONGEST

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "toolhaft"

# The layers, lowest first, and what each of them may import beside itself.
MAY_IMPORT = {
    "words": set(),
    "schema": {"words"},
    "protocol": {"words"},
    "features": {"words", "schema", "protocol"},
    "process": {"words", "protocol"},
    "stores": {"words", "protocol"},
    "calls": {"words", "protocol", "process"},
    "transports": {"words", "protocol", "process", "stores", "calls"},
    # For the edges: what speaks to servers, ours or others.
    "client": {"words", "protocol", "process", "calls"},
    "face": {
        "words", "schema", "protocol", "features", "process", "stores", "calls", "transports",
    },
    "edges": {
        "words", "schema", "protocol", "features", "process", "stores", "calls", "transports",
        "face", "client",
    },
}  # fmt: skip
WORDS = {"encoding", "errors", "jsonrpc", "lazy_regex", "suggestions", "types"}
# Each of them can be read, changed and left out without the others.
TRANSPORTS = {"stdio", "http", "attach"}
MOST_MODULES = 17
# What waits, or gives another answer the next time it is asked.
WAITS = {
    "anyio", "asyncio", "concurrent", "fcntl", "io", "multiprocessing", "os", "pathlib", "queue",
    "random", "secrets", "select", "selectors", "shutil", "signal", "socket", "ssl", "subprocess",
    "sys", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
# Types of values that happen to live beside functions that do I/O.
HARMLESS = {("schema/from_types.py", "uuid"), ("schema/validation/formats.py", "uuid")}
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
LONGEST_MODULE = 500
# Lines of code, without blank lines, comments and docstrings.
LARGEST = {
    "words": 950,
    "schema": 3650,
    "protocol": 2580,
    "features": 5250,
    "process": 1030,
    "stores": 150,
    "calls": 1680,
    "transports": 4300,
    "client": 1410,
    "face": 3150,
}
EDGES = {"auth", "ext", "testing", "cli"}
# Nothing imports an edge, but for commands that do on the command line what the kit does in tests.
EDGES_THAT_USE = {("cli", "testing")}
DEPENDENCIES = {"msgspec"}
# The package beside this one, of the same project: what a bridge and its process agree on.
BRIDGE = "toolhaft_bridge"
# Each of these is an extra, and known to one module only.
EXTRAS = {
    "jsonschema_rs": {"schema/validation/compiled.py"},
    "httptools": {"transports/http/servers/bounded_protocol.py"},
    "granian": {"transports/http/servers/granian_server.py"},
    "uvicorn": {
        "transports/http/servers/http1.py",
        "transports/http/servers/bounded_protocol.py",
        "transports/http/servers/uvicorn_server.py",
    },
    "uvloop": {"serve/over_http.py"},
}

# asyncio takes as long to load as all the rest together, so what needs it is loaded when it serves;
# what is only needed when something is wrong, or by servers that have parts or ask their clients,
# is loaded then.
IMPORTED_LATER = {
    ("cli/commands/run.py", "_over_stdio", "...serve.early_start"),
    ("cli/commands/run.py", "_over_stdio", "...serve.over_stdio"),
    ("cli/commands/run.py", "_traffic", "...traffic"),
    ("cli/installing/files.py", "_written", "secrets"),
    ("cli/installing/receipts.py", "digest", "hashlib"),
    ("cli/options.py", "_connection", "..protocol.revisions"),
    ("features/functions/invocation.py", "_apply_answers", "..elicitation.questions"),
    ("features/functions/parameters.py", "_asked_parameter", "..elicitation.questions"),
    ("features/lazy_validation.py", "__init__", "..schema.validation.supported"),
    ("features/lazy_validation.py", "_compiler", "..schema.validation.compiled"),
    ("features/lazy_validation.py", "_problems", "..schema.validation.validator"),
    ("features/lazy_validation.py", "_unpacked", "..schema.validation.json_values"),
    ("features/lazy_validation.py", "check", "..schema.unknown_members"),
    ("features/lazy_validation.py", "check_schema", "..schema.validation.supported"),
    ("features/lazy_validation.py", "type_limits_of", "..schema.cost.argument_load"),
    ("features/lazy_validation.py", "longest_match", "..schema.cost.regex_backtracking"),
    ("features/lazy_validation.py", "refusing_unknown", "..schema.unknown_members"),
    ("features/lazy_validation.py", "refusing_unknown_inside", "..schema.unknown_members"),
    ("features/providers/object_provider.py", "_leave_out", "logging"),
    ("features/providers/prefix.py", "twin", "copy"),
    ("features/tools.py", "_check_mirrors", ".functions.header_check"),
    ("metrics.py", "table", ".observe.prometheus"),
    ("metrics.py", "text", ".observe.prometheus"),
    ("process/thread_pool.py", "_log", "logging"),
    ("process/thread_pool.py", "_warn", "logging"),
    ("protocol/elicitation/digests.py", "digest", "hashlib"),
    ("protocol/elicitation/digests.py", "from_text", "binascii"),
    ("protocol/elicitation/digests.py", "is_same", "hmac"),
    ("protocol/elicitation/digests.py", "signature", "hmac"),
    ("protocol/elicitation/digests.py", "to_text", "binascii"),
    ("protocol/limits.py", "__call__", "..suggestions"),
    ("schema/codecs.py", "_checks", ".unknown_members"),
    ("schema/fields.py", "dataclass_fields", "dataclasses"),
    ("schema/fresh_defaults.py", "_deep_copy", "copy"),
    ("schema/fresh_defaults.py", "_shallow_copy", "copy"),
    ("schema/pydantic_models.py", "_bounds_of", ".cost.validation_steps"),
    ("serve/attachment.py", "__aexit__", "asyncio"),
    ("serve/attachment.py", "attach", ".attach"),
    ("serve/listener.py", "__init__", ".over_http"),
    ("serve/over_http.py", "_make_runner", "..transports.http.servers.granian_server"),
    ("serve/over_http.py", "_make_runner", "..transports.http.servers.uvicorn_server"),
    ("serve/over_http.py", "_new_loop", "uvloop"),
    ("serve/over_stdio.py", "_text", "json"),
    ("server/catalogue.py", "_place", "..calls.run_on"),
    ("server/catalogue.py", "gate_of", "..process.concurrency_limit"),
    ("server/keywords.py", "_unknown", "..suggestions"),
    ("server/keywords.py", "traffic_of", "..traffic"),
    ("server/secrets.py", "_log", "logging"),
    ("server/secrets.py", "_seal", "."),
    ("server/secrets.py", "_seal", "..protocol.elicitation.request_state"),
    ("server/server.py", "_context_class", "..features.context"),
    ("server/server.py", "_lifespan", "..calls.lifespan"),
    ("server/server.py", "asgi", "..serve.over_http"),
    ("server/server.py", "handle", "..serve.over_stdio"),
    ("server/server.py", "include", ".include_object"),
    ("server/server.py", "include", ".include_server"),
    ("server/server.py", "mask", "logging"),
    ("server/server.py", "run", "..serve.early_start"),
    ("server/server.py", "run", "..serve.listener"),
    ("server/server.py", "run", "..serve.over_stdio"),
    ("server/server.py", "serve", "..serve.over_stdio"),
    ("server/server.py", "store", "..stores.memory"),
    ("transports/http/servers/uvicorn_server.py", "_protocol", ".uvicorn_protocol"),
}


class Module(NamedTuple):
    """One file of the package."""

    path: str  # relative to the package, with slashes
    text: str

    @property
    def tree(self) -> ast.Module:
        return parsed(self)

    @property
    def layer(self) -> str:
        return layer_of(self.path.removesuffix(".py").split("/")[0])


class Import(NamedTuple):
    """An import statement, with the names of the functions it stands in."""

    target: str  # as it is written: "os.path", "..errors", "."
    names: tuple[str, ...]
    line: int
    functions: tuple[str, ...]


@functools.cache
def parsed(module: Module) -> ast.Module:
    """What a module says; every rule looks at all of them."""
    return ast.parse(module.text, module.path)


@functools.cache
def modules() -> list[Module]:
    """The whole package."""
    return [
        Module(path.relative_to(SOURCE).as_posix(), path.read_text())
        for path in sorted(SOURCE.rglob("*.py"))
    ]


def layer_of(top: str) -> str:
    """The layer that a module or folder at the top of the package belongs to."""
    if top in WORDS:
        return "words"
    if top in EDGES:
        return "edges"
    return top if top in MAY_IMPORT else "face"


@functools.cache
def imports_of(module: Module) -> list[Import]:
    """Every import, wherever it stands."""
    found: list[Import] = []
    _collect(module.tree, (), found)
    return found


def _collect(node: ast.AST, functions: tuple[str, ...], found: list[Import]) -> None:
    for child in ast.iter_child_nodes(node):
        inside = functions
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = (*functions, child.name)
        elif isinstance(child, ast.Lambda):
            inside = (*functions, "<lambda>")
        elif isinstance(child, ast.Import):
            found += [Import(alias.name, (), child.lineno, functions) for alias in child.names]
        elif isinstance(child, ast.ImportFrom):
            target = "." * child.level + (child.module or "")
            names = tuple(alias.name for alias in child.names)
            found.append(Import(target, names, child.lineno, functions))
        _collect(child, inside, found)


def tops_of(module: Module, import_: Import) -> set[str]:
    """What an import names at the top of the package, if it stays inside the package."""
    if import_.target == "toolhaft" or import_.target.startswith("toolhaft."):
        inner = import_.target.split(".")[1:]
        return {inner[0]} if inner else set(import_.names)
    if not import_.target.startswith("."):
        return set()
    dots = len(import_.target) - len(import_.target.lstrip("."))
    folder = module.path.split("/")[:-1]
    base = folder[: len(folder) - (dots - 1)]
    rest = [part for part in import_.target.lstrip(".").split(".") if part]
    path = base + rest
    return {path[0]} if path else set(import_.names)


def wrong_imports(module: Module) -> Iterator[str]:
    """Imports that do not point down."""
    allowed = MAY_IMPORT[module.layer] | {module.layer}
    for import_ in imports_of(module):
        for top in tops_of(module, import_):
            is_edge = top in EDGES
            if not is_edge and layer_of(top) not in allowed:
                yield f"{module.path}:{import_.line}: {module.layer} imports {top}"
            own = module.path.split("/")[0]
            if is_edge and own not in {top, "__main__.py"} and (own, top) not in EDGES_THAT_USE:
                yield f"{module.path}:{import_.line}: nothing imports the edge {top}"


def foreign_transports(module: Module) -> Iterator[str]:
    """Imports of one transport by another."""
    layer, _, rest = module.path.partition("/")
    own = rest.split("/")[0]
    if layer != "transports" or own not in TRANSPORTS:
        return
    for import_ in imports_of(module):
        dots = len(import_.target) - len(import_.target.lstrip("."))
        folder = module.path.split("/")[:-1]
        path = [*folder[: len(folder) - (dots - 1)], *import_.target.lstrip(".").split(".")]
        if dots and path[0] == "transports" and path[1] in TRANSPORTS - {own}:
            yield f"{module.path}:{import_.line}: {own} imports {path[1]}"


def io_of(module: Module) -> Iterator[str]:
    """What a module of the core does that waits, or depends on more than its arguments."""
    for import_ in imports_of(module):
        top = import_.target.split(".")[0]
        if top in WAITS and (module.path, top) not in HARMLESS:
            yield f"{module.path}:{import_.line}: imports {top}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield f"{module.path}:{node.lineno}: awaits"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "open",
            "input",
            "print",
        ):
            yield f"{module.path}:{node.lineno}: calls {ast.unparse(node.func)}"


def dates_of(module: Module) -> Iterator[str]:
    """Dates in code. Docstrings and comments may mention them."""
    tree = module.tree
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            value = node.value
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            if isinstance(text, str) and DATE.search(text):
                yield f"{module.path}:{node.lineno}: {value!r}"


def late_imports(module: Module) -> Iterator[str]:
    """Imports inside of functions, but for the few that have their reason."""
    for import_ in imports_of(module):
        if import_.functions:
            where = (module.path, import_.functions[0], import_.target)
            if where not in IMPORTED_LATER:
                yield f"{module.path}:{import_.line}: {import_.target} in {import_.functions[-1]}"


def type_checking_detours(module: Module) -> Iterator[str]:
    """`if TYPE_CHECKING`, by which a module could look up unseen."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield f"{module.path}:{node.lineno}"


def swallowed(module: Module) -> Iterator[str]:
    """Handlers that take everything and do nothing."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and _is_empty(node.body):
            yield f"{module.path}:{node.lineno}: except … pass"
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("suppress")
            and any(_is_broad(argument) for argument in node.args)
        ):
            yield f"{module.path}:{node.lineno}: suppress"


def _is_broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_is_broad(element) for element in kind.elts)
    return kind is None or ast.unparse(kind) in ("Exception", "BaseException")


def _is_empty(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(statement, ast.Pass | ast.Continue)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def foreign(module: Module) -> Iterator[str]:
    """Imports from outside of the standard library that we do not depend on."""
    known = sys.stdlib_module_names | DEPENDENCIES | {"toolhaft", BRIDGE}
    known |= {extra for extra, paths in EXTRAS.items() if module.path in paths}
    for import_ in imports_of(module):
        top = import_.target.split(".")[0]
        if top and top not in known:
            yield f"{module.path}:{import_.line}: {import_.target}"


def all_of(check: object) -> list[str]:
    """What a check finds in the whole package."""
    assert callable(check)
    return [problem for module in modules() for problem in check(module)]


# The package


def test_there_is_something_to_check() -> None:
    layers = {module.layer for module in modules()}

    assert layers == MAY_IMPORT.keys()


def test_imports_point_down() -> None:
    assert all_of(wrong_imports) == []


def test_transports_do_not_import_each_other() -> None:
    assert all_of(foreign_transports) == []


def test_packages_stay_small() -> None:
    sizes = Counter(
        module.path.rpartition("/")[0] for module in modules() if "__init__" not in module.path
    )

    assert {path: size for path, size in sizes.items() if size > MOST_MODULES} == {}


def test_there_are_no_detours_for_type_checkers() -> None:
    assert all_of(type_checking_detours) == []


def test_the_core_does_no_io() -> None:
    core = [module for module in modules() if module.layer in ("words", "schema", "protocol")]

    assert [problem for module in core for problem in io_of(module)] == []


def test_features_do_not_touch_the_outside_world() -> None:
    sought = {"asyncio", "os", "random", "select", "socket", "subprocess", "sys", "time"}
    found = [
        f"{module.path}:{import_.line}: {import_.target}"
        for module in modules()
        if module.layer == "features"
        for import_ in imports_of(module)
        if import_.target.split(".")[0] in sought
    ]

    assert found == []


def test_only_the_table_knows_revision_dates() -> None:
    found = [problem for problem in all_of(dates_of) if "protocol/revisions.py" not in problem]

    assert found == []
    assert len(all_of(dates_of)) == 5


def test_imports_stand_at_the_top() -> None:
    assert all_of(late_imports) == []


def test_every_late_import_that_is_allowed_exists() -> None:
    found = {
        (module.path, import_.functions[0], import_.target)
        for module in modules()
        for import_ in imports_of(module)
        if import_.functions
    }

    assert found == IMPORTED_LATER


def test_modules_stay_small() -> None:
    sizes = {module.path: module.text.count("\n") for module in modules()}

    assert {path: size for path, size in sizes.items() if size > LONGEST_MODULE} == {}


def test_each_layer_stays_small() -> None:
    sizes = dict.fromkeys(LARGEST, 0)
    for module in modules():
        if module.path.split("/")[0] not in EDGES:
            sizes[module.layer] += code_lines(module.text)

    assert {layer: size for layer, size in sizes.items() if size > LARGEST[layer]} == {}


def code_lines(text: str) -> int:
    """How many lines hold code: a limit must not make anybody save on docstrings."""
    lines = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and not is_docstring(node)
        for line in range(node.lineno, first_line_of_body(node) or (node.end_lineno or 0) + 1)
    }
    return len(lines)


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def first_line_of_body(node: ast.stmt) -> int | None:
    body = getattr(node, "body", None)
    return body[0].lineno if isinstance(body, list) and body else None


def test_blank_lines_comments_and_docstrings_are_not_code() -> None:
    text = (
        '"""Words."""\n\n# more words\ndef f():\n    """Words\n    again."""\n'
        "    return (\n        1\n    )\n"
    )

    assert code_lines(text) == 4


def test_nothing_is_swallowed() -> None:
    assert all_of(swallowed) == []


# They wait for functions, stores and guards of an author, which raise any class of `OSError`. Only
# modules that hold the connection itself may take one for the end of that connection.
RUN_CODE_OF_AUTHORS = {
    "calls/call.py",
    "calls/client_requests.py",
    "calls/driver.py",
    "calls/lifespan.py",
    "calls/recorded_steps.py",
    "transports/attach/hooks.py",
    "transports/http/endpoint.py",
    "transports/http/guard.py",
    "transports/http/sessions/event_log.py",
    "transports/http/sessions/get_stream.py",
    "transports/http/sessions/relay.py",
    "transports/http/sessions/sessions.py",
}


def test_an_error_of_an_author_is_not_taken_for_the_end_of_a_connection() -> None:
    catching = {
        module.path
        for module in modules()
        if module.path in RUN_CODE_OF_AUTHORS
        and any(
            isinstance(node, ast.Name) and node.id in ("OSError", "ConnectionError", "TimeoutError")
            for node in ast.walk(module.tree)
        )
    }

    assert catching == set()


def test_only_known_packages_are_imported() -> None:
    assert all_of(foreign) == []


def test_msgspec_is_the_only_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    names = [re.match(r"[A-Za-z0-9_.-]+", entry) for entry in project["dependencies"]]
    assert [name.group() for name in names if name] == ["msgspec"]


def test_every_module_says_what_it_is() -> None:
    silent = [module.path for module in modules() if not ast.get_docstring(module.tree)]

    assert silent == []


def all_modules() -> list[Module]:
    """Of all packages, with their paths from the folder of sources."""
    folder = SOURCE.parent
    return [
        Module(path.relative_to(folder).as_posix(), path.read_text())
        for path in sorted(folder.rglob("*.py"))
    ]


def silent_names(module: Module, told: frozenset[str] = frozenset()) -> Iterator[str]:
    """Functions, classes and methods for everybody that say nothing of themselves.

    Args:
        told: methods that some class says something of: who has one of the same name keeps the
            same promise.
    """
    for node in module.tree.body:
        if not isinstance(node, _NAMED) or node.name.startswith("_") or _is_variant(node):
            continue
        if not ast.get_docstring(node):
            yield f"{module.path}:{node.lineno}: {node.name}"
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if (
                isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
                and not inner.name.startswith("_")
                and not _is_variant(inner)
                and not ast.get_docstring(inner)
                and inner.name not in told
                and not _is_member(inner)
            ):
                yield f"{module.path}:{inner.lineno}: {node.name}.{inner.name}"


_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _is_variant(node: ast.AST) -> bool:
    """One of several signatures; the last one says what it does."""
    return any("overload" in ast.unparse(mark) for mark in getattr(node, "decorator_list", ()))


def _is_member(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Is it a member that a protocol only asks for? Its name and type say it."""
    marks = [ast.unparse(mark) for mark in node.decorator_list]
    return marks == ["property"] and ast.unparse(node.body[0]) == "..."


def documented_methods() -> frozenset[str]:
    """The names of methods that some class says something of."""
    return frozenset(
        inner.name
        for module in all_modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        for inner in node.body
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(inner)
    )


def test_every_public_name_says_what_it_is() -> None:
    told = documented_methods()

    assert [problem for module in all_modules() for problem in silent_names(module, told)] == []


# What a module is tested by, if that is no file of its own name: the behaviour that it is for.
TESTS = ROOT / "tests"
TESTED = tomllib.loads((TESTS / "modules.toml").read_text(encoding="utf-8"))


def place_of_tests(module: str) -> tuple[Path, str]:
    """Where the tests of a module are: the folder of its package, and the name of the module there.
    A package is a module beside it."""
    path = Path(module.removeprefix("toolhaft/"))
    path = path.parent if path.name == "__init__.py" and path.parent.name else path.with_suffix("")
    return TESTS / path.parent, path.name


def is_imported_by(module: str, file: Path) -> bool:
    """Does this file of tests import from the module itself?"""
    package, _, name = module.removesuffix(".py").replace("/", ".").rpartition(".")
    return any(
        node.module == f"{package}.{name}"
        or (node.module == package and name in {alias.name for alias in node.names})
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    )


def file_of_tests(module: str, table: dict[str, str]) -> str | None:
    """What tests a module: what the table names; or, in the folder of its package, the file or the
    folder that bears its name; or a file in there that imports it."""
    if module in table:
        return table[module]
    folder, name = place_of_tests(module)
    found = [
        *folder.glob(f"test_{name}.py"),
        *([] if module.endswith("/__init__.py") else sorted((folder / name).glob("test_*.py"))),
    ]
    if not found and folder != TESTS:
        found = [file for file in sorted(folder.glob("test_*.py")) if is_imported_by(module, file)]
    return str(found[0].relative_to(TESTS)) if found else None


def has_code(module: Module) -> bool:
    """Is there anything in it that could be wrong?"""
    return any(isinstance(node, _NAMED) for node in module.tree.body)


def test_every_module_has_tests_of_its_own() -> None:
    modules = [module.path for module in all_modules() if has_code(module)]

    assert [path for path in modules if file_of_tests(path, TESTED) is None] == []


def test_the_table_of_tests_names_what_is_there() -> None:
    modules = {module.path for module in all_modules()}

    assert set(TESTED) <= modules
    assert {file for file in TESTED.values() if not (TESTS / file).is_file()} == set()


def test_the_table_of_tests_has_no_needless_rows() -> None:
    assert [path for path in TESTED if file_of_tests(path, {}) is not None] == []


def bridge_modules() -> list[Module]:
    """The package beside this one."""
    folder = SOURCE.parent / BRIDGE
    return [Module(path.name, path.read_text()) for path in sorted(folder.rglob("*.py"))]


def test_a_bridge_needs_the_standard_library_only() -> None:
    found = {
        (module.path, import_.target)
        for module in bridge_modules()
        for import_ in imports_of(module)
        if not import_.target.startswith(".")
        and import_.target.split(".")[0] not in sys.stdlib_module_names
    }

    # Every other command is in there, and loaded when it is wanted.
    assert found == {("command.py", "toolhaft.cli")}


def test_a_bridge_is_small_and_says_what_it_is() -> None:
    modules = bridge_modules()

    assert [module.path for module in modules if not ast.get_docstring(module.tree)] == []
    assert sum(code_lines(module.text) for module in modules) < 1450


def test_the_files_of_tests_that_come_first_are_there() -> None:
    assert [file for file in LONGEST if not (TESTS.parent / file).is_file()] == []


def test_tests_of_others_are_none_of_a_new_module() -> None:
    modules = ["toolhaft/nothing.py", "toolhaft/calls/nothing.py", "toolhaft/nothing/__init__.py"]

    assert [file_of_tests(module, {}) for module in modules] == [None, None, None]
    assert file_of_tests("toolhaft/calls/driver.py", {}) == "calls/test_driver.py"


# The checks themselves: each can fail


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("errors.py", "from .jsonrpc import x\nfrom .protocol import peer"),
        ("types/tools.py", "from ..protocol.peer import Peer"),
        ("types/tools.py", "from .. import server"),
        ("protocol/peer.py", "from ..features.tools import Tool"),
        ("protocol/peer.py", "from ..schema.codecs import Kind"),
        ("schema/codecs.py", "from ..protocol.calls import Call"),
        ("calls/driver.py", "from ..schema.codecs import Kind"),
        ("protocol/peer.py", "def f():\n    from ..transports import pipes"),
        ("protocol/peer.py", "import toolhaft.server"),
        ("features/tools.py", "from toolhaft.transports import pipes"),
        ("features/tools.py", "from ..calls.connection import Connection"),
        ("transports/pipes.py", "from ..features import tools"),
        ("transports/pipes.py", "from ..server import Server"),
        ("server/server.py", "from ..cli import main"),
        ("serve/over_stdio.py", "from .. import testing"),
        ("serve/over_stdio.py", "from ..client.conversation import Conversation"),
        ("client/http/streamable.py", "from ...server.server import Server"),
        ("client/http/streamable.py", "from ...features import tools"),
        ("process/thread_pool.py", "from ..calls.driver import Driver"),
        ("calls/driver.py", "from ..transports import pipes"),
        ("testing/play_call.py", "from ..cli.target import load"),
    ],
)
def test_an_import_that_points_up_is_found(path: str, text: str) -> None:
    assert len(list(wrong_imports(Module(path, text)))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("jsonrpc.py", "from .errors import x\nimport re, msgspec"),
        ("types/tools.py", "from .wire import Wire\nfrom ..errors import E\nfrom . import content"),
        ("protocol/peer.py", "from ..jsonrpc import x\nfrom .calls import Call"),
        (
            "features/tools.py",
            "from ..protocol.calls import Call\nfrom .providers.registry import Registry",
        ),
        ("transports/pipes.py", "from ..protocol.framing import Framer\nimport asyncio"),
        (
            "server/server.py",
            "from ..features.tools import Tool\nfrom ..calls.driver import Driver",
        ),
        ("client/memory.py", "from ..calls.service import connected\nfrom .wire import Wire"),
        (
            "cli/commands/run.py",
            "from ...serve.over_stdio import run_stdio\nfrom ..target import load",
        ),
        ("testing/client.py", "from ..client.conversation import Conversation"),
    ],
)
def test_an_import_that_points_down_is_not(path: str, text: str) -> None:
    assert list(wrong_imports(Module(path, text))) == []


def test_a_transport_that_imports_another_is_found() -> None:
    texts = [
        ("transports/stdio/watchdog.py", "from ..http.app import App"),
        ("transports/http/servers/tls.py", "from ...attach import hooks"),
        ("transports/attach/host.py", "from ..pipes import Input\nfrom ...calls import driver"),
    ]

    found = [list(foreign_transports(Module(*each))) for each in texts]

    assert [len(each) for each in found] == [1, 1, 0]


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "import os.path",
        "from random import choice",
        "def f():\n    import asyncio",
        "async def f():\n    await x",
        "async def f():\n    async with x: pass",
        "open('x')",
    ],
)
def test_io_is_found(text: str) -> None:
    assert len(list(io_of(Module("protocol/peer.py", text)))) == 1


@pytest.mark.parametrize(
    "text", ["x = '2025-11-25'", "x = b'since 2025-11-25'", "f(a='2025-11-25')"]
)
def test_a_date_in_code_is_found(text: str) -> None:
    assert len(list(dates_of(Module("features/tools.py", text)))) == 1


@pytest.mark.parametrize(
    "text", ['"""Of 2025-11-25."""', "# 2025-11-25", 'def f():\n    """2025-11-25"""']
)
def test_a_date_that_is_only_mentioned_is_not(text: str) -> None:
    assert list(dates_of(Module("features/tools.py", text))) == []


def test_a_late_import_is_found() -> None:
    text = "class A:\n    async def f(self):\n        if x:\n            from .b import c"

    assert list(late_imports(Module("run.py", text))) == ["run.py:4: .b in f"]
    assert list(late_imports(Module("run.py", "if x:\n    import os"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept:\n    pass",
        "while x:\n  try:\n    f()\n  except (ValueError, BaseException):\n    continue",
        "try:\n    f()\nexcept Exception as e:\n    '''nothing'''",
        "with contextlib.suppress(Exception):\n    f()",
    ],
)
def test_a_swallowed_exception_is_found(text: str) -> None:
    assert len(list(swallowed(Module("run.py", text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    f()\nexcept ValueError:\n    pass",
        "try:\n    f()\nexcept Exception as e:\n    log(e)",
        "with suppress(ConnectionError):\n    f()",
    ],
)
def test_an_exception_that_is_handled_is_not(text: str) -> None:
    assert list(swallowed(Module("run.py", text))) == []


def test_a_foreign_package_is_found() -> None:
    text = "import msgspec\nimport json\nimport pydantic\nfrom . import x"

    assert list(foreign(Module("server.py", text))) == ["server.py:3: pydantic"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(): ...",
        "class A: ...",
        "class A:\n    'x'\n    def f(self): ...",
        "async def f():\n    return 1",
    ],
)
def test_a_name_that_says_nothing_is_found(text: str) -> None:
    assert len(list(silent_names(Module("run.py", text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def _f(): ...",
        "class A:\n    'x'\n    def told(self): ...",
        "@overload\ndef f(): ...",
        "class A:\n    'x'\n    @property\n    def f(self): ...",
        "def f():\n    'x'",
    ],
)
def test_a_name_that_need_not_is_not(text: str) -> None:
    assert list(silent_names(Module("run.py", text), frozenset({"told"}))) == []


def test_a_module_without_tests_is_found() -> None:
    assert file_of_tests("toolhaft/protocol/framing.py", {}) == "protocol/test_framing.py"
    assert file_of_tests("toolhaft/nowhere.py", {"toolhaft/nowhere.py": "x.py"}) == "x.py"
    assert file_of_tests("toolhaft/nowhere.py", {}) is None
    # Files of tests that bear such a name are there, and are of others.
    assert file_of_tests("toolhaft/features/framing.py", {}) is None
    assert file_of_tests("toolhaft_bridge/framing.py", {}) is None


def test_a_detour_is_found() -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import x"

    assert list(type_checking_detours(Module("server.py", text))) == ["server.py:2"]
