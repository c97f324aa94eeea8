"""Loading of a TARGET: `file.py`, `file.py:name`, `module`, `module:name`, or a folder whose
`pyproject.toml` names one of these."""

import importlib
import importlib.util
import inspect
import sys
import tomllib
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast

from ..serve.listener import Listener
from ..server.load_guard import held_back
from ..server.server import Server
from ..suggestions import near_name
from .target_syntax import is_project, parts_of

_PACKAGE = Path(__file__).parent.parent


class BadTarget(Exception):
    """A target that yields no server; the message names what was searched and where."""


class NoModule(BadTarget):
    """A target that is neither a module nor similar to the name of a file."""


class Loaded(NamedTuple):
    """A loaded target.

    Args:
        found: the object that the target names.
        file: the file of its module.
        ignored_keywords: keywords passed to `run` and the like during import, without effect.
    """

    found: Server | Listener
    file: str | None
    ignored_keywords: set[str]


def load(target: str) -> Server:
    """Load the server that a target names.

    Raises:
        BadTarget: there is none.
    """
    found = load_any(target)
    if isinstance(found, Listener):
        raise BadTarget(f"{target} is a Listener, which can only be run; name one of its servers")
    return found


def load_any(target: str) -> Server | Listener:
    """Load the server or listener that a target names. A `run()` in its file does nothing.

    Raises:
        BadTarget: there is none.
    """
    return load_for_http(target).found


def load_for_http(target: str) -> Loaded:
    """Load a target, and collect the keywords that its file passes to calls that would serve.

    Raises:
        BadTarget: there is none.
    """
    with held_back("stdio", "http") as ignored_keywords:
        found, module = _load(target)
    return Loaded(found, module.__file__, ignored_keywords)


def load_for_stdio(target: str) -> Server | Listener:
    """Load a target to serve it over stdio; a `run()` over stdio in its file serves right there.

    Raises:
        BadTarget: there is none.
    """
    with held_back("http"):
        return _load(target)[0]


def _load(target: str) -> tuple[Server | Listener, ModuleType]:
    if "://" in target:
        raise BadTarget(
            f"{target!r} is a URL; a target must be a file or a module, as in server.py or "
            "package.module"
        )
    if is_project(target):
        return _from_project(Path(target))
    return _load_object(target)


def _load_object(target: str) -> tuple[Server | Listener, ModuleType]:
    where, name = parts_of(target)
    module = _from_file(Path(where)) if where.endswith(".py") else _from_name(where)
    return (_named_server(module, name, where) if name else _only_server(module, where)), module


def _from_project(folder: Path) -> tuple[Server | Listener, ModuleType]:
    """Load what `[tool.toolhaft] server = "module:name"` in the folder's settings names."""
    settings = folder / "pyproject.toml"
    if not settings.is_file():
        raise BadTarget(f"{str(folder)!r} is a folder without a pyproject.toml; name a file in it")
    try:
        project = tomllib.loads(settings.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadTarget(f"{str(settings)!r} cannot be read: {error}") from None
    named = _server_setting(project)
    if named is None:
        raise BadTarget(
            f"{str(settings)!r} does not say which server; write there: [tool.toolhaft] "
            'server = "package.module:name"'
        )
    for place in (folder, folder / "src"):
        sys.path.insert(0, str(place.resolve()))
    where, _ = parts_of(named)
    return _load_object(str(folder / named) if where.endswith(".py") else named)


def _server_setting(project: dict[str, Any]) -> str | None:
    found: object = project
    for key in ("tool", "toolhaft", "server"):
        found = cast(dict[str, object], found).get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) and found else None


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        near = _similar_file(path)
        raise BadTarget(f"there is no file {str(path)!r}" + (near and f"; {near}"))
    sys.path.insert(0, str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BadTarget(f"{str(path)!r} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BadTarget(_failure_text(str(path), error)) from error
    return module


def _similar_file(path: Path) -> str:
    """Suggest an existing file with a similar name; empty if there is none."""
    try:
        known = sorted(each.name for each in path.parent.glob("*.py"))
    except OSError:
        return ""
    near = near_name(path.name, known)
    return "" if near is None else f"did you mean {path.with_name(near)}?"


def _from_name(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")) or Path(name).is_file():
        raise _no_module(name)
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise _no_module(name) from None
        raise BadTarget(_failure_text(name, error)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BadTarget(_failure_text(name, error)) from error


def _no_module(name: str) -> BadTarget:
    path = Path(name)
    if path.is_file():
        return BadTarget(f"{name!r} is no file of Python; the name of one ends in .py")
    file = path.with_name(f"{path.name}.py") if path.name else Path("server.py")
    missing = f"there is no module {name!r}; a file is named with its ending"
    near = _similar_file(file)
    return BadTarget(f"{missing}; {near}") if near else NoModule(f"{missing}, as in {file}")


def _failure_text(where: str, error: BaseException, what: str = "imported") -> str:
    """Format an error of the author's code, without the frames of this library."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _is_library_frame(frame.filename)]
    lines = traceback.format_list(own) + traceback.format_exception_only(error)
    return f"{where} could not be {what}\n" + "".join(lines).rstrip()


def _is_library_frame(filename: str) -> bool:
    return filename.startswith("<frozen importlib") or Path(filename).is_relative_to(_PACKAGE)


def _only_server(module: ModuleType, where: str) -> Server:
    servers = {name: value for name, value in vars(module).items() if isinstance(value, Server)}
    distinct = {id(server) for server in servers.values()}
    if len(distinct) == 1:
        return next(iter(servers.values()))
    if "server" in servers:  # by convention the main one among several
        return servers["server"]
    if servers:
        listeners = [name for name, value in vars(module).items() if isinstance(value, Listener)]
        choices = " or ".join(f"{where}:{name}" for name in [*servers, *listeners])
        raise BadTarget(f"{where} has several servers; say which: {choices}")
    maker = next(
        (name for name, value in vars(module).items() if _makes_server(value, module)), None
    )
    raise BadTarget(
        f"{where} has no Server; make one at the top of the module, or name a function that makes "
        f"one, as in {where}:{maker or 'FUNCTION'}"
    )


def _makes_server(value: object, module: ModuleType) -> bool:
    """Guess whether a function of the module returns a server when called without arguments."""
    if not inspect.isfunction(value) or value.__module__ != module.__name__:
        return False
    signature = inspect.signature(value)
    if any(each.default is each.empty for each in signature.parameters.values()):
        return False
    made = signature.return_annotation
    return made in (Server, "Server") or "server" in value.__name__.lower()


def _named_server(module: ModuleType, name: str, where: str) -> Server | Listener:
    value: Any = getattr(module, name, None)
    if value is None:
        known = [key for key, found in vars(module).items() if isinstance(found, Server)]
        hint = f"; it has {', '.join(known)}" if known else ""
        raise BadTarget(f"{where} has nothing named {name!r}{hint}")
    if not isinstance(value, Server | Listener) and callable(value):
        try:
            value = value()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise BadTarget(_failure_text(f"{where}:{name}", error, "called")) from error
    if inspect.isawaitable(value) or not isinstance(value, Server | Listener):
        raise BadTarget(f"{where}:{name} is {type(value).__name__}, not a Server")
    return value
