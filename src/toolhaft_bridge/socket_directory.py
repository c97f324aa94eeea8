"""Finds and connects to attached processes: named Unix sockets in a private directory of one user.

The bridge first sends one line, a JSON object:

    {"toolhaft": 1, "ask": "serve", "init": "module:function", "stop": "module:function"}

`toolhaft` is the version of this protocol, `ask` the kind of request; other members are its
parameters. The process answers with one line: `{"toolhaft": 1, "error": "a message"}`, and closes
the connection, or an object without `error`. The rest depends on the request:

    serve   {"toolhaft": 1, "name": …, "pid": …}, and then MCP as on stdin and stdout. With its line
            a bridge may pass five descriptors: the client's input and output, a `journal`, and both
            ends of an outbox. A process that accepts them adds `"taken": true`, reads and writes
            the client's streams itself, and sends nothing more on this connection. When the
            connection is closed, both sides end
    info    the data of `toolhaft ps`, then the connection is closed
    metrics the output of `toolhaft metrics` as `text`, then the connection is closed
    reset-metrics
            like `metrics`, then all metrics are reset

A new kind of request goes into the table in `toolhaft.transports.attach.host`.
"""

# Not `socket`, which imports enum and selectors: that takes longer than the rest of a bridge.
import _socket
import os
import stat
import sys

VERSION = 1
SUFFIX = ".sock"
# Characters of a process name: a file name that needs no quoting in any shell.
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST_NAME = 64
# Bytes of `sun_path` in a socket address, including the terminating zero.
_LONGEST_PATH = 108 if sys.platform == "linux" else 104
_CHUNK = 65536


class NotAttached(Exception):
    """No such process is attached, or it must not be used; the message says what to do."""


class Refused(Exception):
    """The process has refused the request; the message is its own."""


def check_name(name: str) -> str:
    """Check and return the name of a process.

    Raises:
        ValueError: the name is not valid.
    """
    if not name or len(name) > _LONGEST_NAME or not _LETTERS.issuperset(name) or name[0] in ".-":
        raise ValueError(
            f"{name!r} cannot be the name of a process: it takes letters, digits, '.', '_' and "
            f"'-', begins with none of '.-', and has at most {_LONGEST_NAME} of them"
        )
    return name


def name_from(text: str) -> str:
    """Derive a process name from the name of a server."""
    letters = [letter if letter in _LETTERS else "-" for letter in text]
    name = "-".join(filter(None, "".join(letters).lstrip(".-").split("-")))
    try:
        return check_name(name)
    except ValueError:
        raise ValueError(
            f"the server's name, {text!r}, makes no name of a process; give one: "
            "server.attach(name=…), of ASCII letters and digits"
        ) from None


def directories(environment: dict[str, str] | None = None) -> list[str]:
    """Return the directories that may contain sockets, the preferred one first.

    There are several, because a service may run without the environment variables of the desktop
    session, and clients pass few of theirs to a bridge.
    """
    known = os.environ if environment is None else environment
    user = str(os.getuid())
    runtime = known.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    found = [os.path.join(runtime, "toolhaft")] if os.path.isdir(runtime) else []
    temporary = [known.get("TMPDIR") or "/tmp", "/tmp"]
    if sys.platform == "darwin":
        # _CS_DARWIN_USER_TEMP_DIR, the default of TMPDIR; `os.confstr_names` lacks it.
        temporary.insert(1, os.confstr(65537) or "/tmp")
    found += [os.path.join(folder, f"toolhaft-{user}") for folder in temporary]
    return list(dict.fromkeys(found))


def own_directory() -> str:
    """Return the directory for sockets of this process, and create it if necessary.

    Raises:
        OSError: it cannot be created, or other users have access to it.
    """
    path = directories()[0]
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        check_directory(path)
    except OSError as error:
        raise OSError(
            f"cannot make {path}: {error.strerror}; set XDG_RUNTIME_DIR to a directory of your own"
        ) from None
    return path


def check_directory(path: str) -> None:
    """Check that a directory is private: with write access, a process can pose as another one.

    Raises:
        OSError: it is not private; the message says what to do.
    """
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise OSError(f"{path} is no directory; remove it, it is where sockets have to be")
    if found.st_uid != os.getuid():
        raise OSError(
            f"{path} belongs to somebody else (uid {found.st_uid}); set XDG_RUNTIME_DIR to a "
            "directory of your own"
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise OSError(f"{path} can be used by others; run: chmod 700 {path}")


def check_path(path: str) -> str:
    """Check and return a path for a socket.

    Raises:
        ValueError: it is too long.
    """
    if len(os.fsencode(path)) >= _LONGEST_PATH:
        raise ValueError(
            f"the path of a socket has less than {_LONGEST_PATH} bytes, and {path} has more; "
            "choose a shorter one with socket="
        )
    return path


def sockets() -> list[tuple[str, str]]:
    """Return the names and paths of all sockets, including stale ones.

    A name may occur in several directories.
    """
    found: list[tuple[str, str]] = []
    for directory in directories():
        try:
            check_directory(directory)
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        found += [
            (name[: -len(SUFFIX)], os.path.join(directory, name))
            for name in names
            if name.endswith(SUFFIX)
        ]
    return found


def paths_of(name: str) -> list[str]:
    """Return the paths of sockets with this name, the preferred one first; some may be stale."""
    return [path for each, path in sockets() if each == name]


def connect(path: str, seconds: float | None = None) -> _socket.socket:
    """Connect to a process; `seconds` is the timeout.

    Raises:
        OSError: no process listens there.
        NotAttached: the process belongs neither to this user nor to root.
    """
    wire = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        wire.settimeout(seconds)
        wire.connect(path)
        owner = peer_of(wire)
        if owner is not None and owner not in (0, os.getuid()):
            raise NotAttached(f"{path} belongs to somebody else (uid {owner}), and is not used")
    except BaseException:
        wire.close()
        raise
    return wire


def peer_of(wire: _socket.socket) -> int | None:
    """Return the user id of the peer; None where the system does not provide it."""
    if sys.platform == "linux":
        found = wire.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return int.from_bytes(found[4:8], sys.byteorder)
    if sys.platform == "darwin" or "freebsd" in sys.platform:
        # `struct xucred` from LOCAL_PEERCRED: a version, then the user id.
        found = wire.getsockopt(0, 1, 76)
        return int.from_bytes(found[4:8], sys.byteorder)
    return None


def ask(wire: _socket.socket, what: str, **more: str | None) -> bytes:
    """Send a request and read its answer. Values must not need escapes in JSON.

    Raises:
        Refused: the answer is an error.
        OSError: the process has ended.
    """
    say(wire, what, **more)
    return answer(wire)


def say(wire: _socket.socket, what: str, **more: str | None) -> None:
    """Send a request.

    Raises:
        OSError: the process has ended.
    """
    wire.sendall(_line(what, more))


def hand(wire: _socket.socket, descriptors: list[int], what: str, **more: str | None) -> None:
    """Send a request together with file descriptors.

    Raises:
        OSError: the process has ended.
    """
    rights = b"".join(each.to_bytes(4, sys.byteorder) for each in descriptors)
    wire.sendmsg([_line(what, more)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])


def _line(what: str, more: dict[str, str | None]) -> bytes:
    members = {"ask": what, **{name: value for name, value in more.items() if value is not None}}
    words = "".join(f',"{name}":"{value}"' for name, value in members.items())
    return f'{{"toolhaft":{VERSION}{words}}}\n'.encode()


def answer(wire: _socket.socket) -> bytes:
    """Read the answer to a request.

    Raises:
        Refused: the answer is an error.
        OSError: the process has ended.
    """
    line = read_line(wire)
    if b'"error"' in line:
        from .messages import error_in  # noqa: PLC0415

        if (error := error_in(line)) is not None:
            raise Refused(error)
    return line


def read_line(wire: _socket.socket) -> bytes:
    """Read one line, and no bytes beyond it.

    Raises:
        OSError: the connection has ended or timed out.
    """
    line = b""
    while not line.endswith(b"\n"):
        seen = wire.recv(_CHUNK, _socket.MSG_PEEK)
        if not seen:
            raise ConnectionResetError("the process has ended")
        end = seen.find(b"\n") + 1
        line += wire.recv(end or len(seen))
    return line


def attached_now() -> str:
    """Describe the attached processes, for a message that a name was not found."""
    alive: dict[str, None] = {}
    for name, path in sockets():
        try:
            connect(path, 1.0).close()
        except (OSError, NotAttached):
            continue
        alive[name] = None
    found = f"attached now: {', '.join(alive)}" if alive else "no process is attached now"
    return "; ".join([found, *_unfit()])


def _unfit() -> list[str]:
    """Return why directories of sockets are not used, for those that are not private."""
    told: list[str] = []
    for directory in directories():
        try:
            check_directory(directory)
        except FileNotFoundError:
            continue
        except OSError as error:
            told.append(str(error))
    return told
