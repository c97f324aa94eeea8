"""Where attached processes are found: sockets with names, in a directory of one user.

What is said there at first is one line from the bridge, a JSON object:

    {"toolhaft": 1, "ask": "serve", "init": "module:function", "stop": "module:function"}

`toolhaft` is the version of this agreement and `ask` is what is wanted; all else belongs to that.
The process answers with one line: `{"toolhaft": 1, "error": "words for a person"}`, after which it
hangs up, or an object without `error`. What follows depends on what was asked:

    serve   {"toolhaft": 1, "name": …, "pid": …}, and then MCP as on stdin and stdout. With the line
            a bridge may give five descriptors: the client's input and output, a `journal`, and both
            ends of an outbox. A process that takes them adds `"taken": true`, speaks with the
            client itself, and says no more here; the end of the connection is still the end of both
    info    what `toolhaft ps` shows, and the end of the connection
    metrics what `toolhaft metrics` shows, as `text`, and the end of the connection
    reset-metrics
            the same, and then the metrics begin anew

Whoever adds something to ask for adds it to the table in `toolhaft.transports.attach.host`.
"""

# What `socket` is made of. That one loads enums and selectors, which takes longer than all we do.
import _socket
import os
import stat
import sys

VERSION = 1
SUFFIX = ".sock"
# A name is a file name that needs no quoting in any shell.
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST_NAME = 64
# What fits into the address of a socket, with the zero that ends it.
_LONGEST_PATH = 108 if sys.platform == "linux" else 104
_CHUNK = 65536


class NotAttached(Exception):
    """There is no such process, or none that may be used; the message says what to do."""


class Refused(Exception):
    """The process has turned us away; the message is in its words."""


def check_name(name: str) -> str:
    """A name of a process.

    Raises:
        ValueError: it cannot be one.
    """
    if not name or len(name) > _LONGEST_NAME or not _LETTERS.issuperset(name) or name[0] in ".-":
        raise ValueError(
            f"{name!r} cannot be the name of a process: it takes letters, digits, '.', '_' and "
            f"'-', begins with none of '.-', and has at most {_LONGEST_NAME} of them"
        )
    return name


def name_from(text: str) -> str:
    """A name made of what somebody is called anyway."""
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
    """Where sockets may be, the best place first. A service may have been started without the
    variables of the desktop that its clients have, and a client passes on hardly any, so there is
    more than one."""
    known = os.environ if environment is None else environment
    user = str(os.getuid())
    runtime = known.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    found = [os.path.join(runtime, "toolhaft")] if os.path.isdir(runtime) else []
    temporary = [known.get("TMPDIR") or "/tmp", "/tmp"]
    if sys.platform == "darwin":
        # What TMPDIR is there, unless somebody has set it to something else. It has no name here.
        temporary.insert(1, os.confstr(65537) or "/tmp")
    found += [os.path.join(folder, f"toolhaft-{user}") for folder in temporary]
    return list(dict.fromkeys(found))


def own_directory() -> str:
    """The directory for our own sockets; made if it is not there.

    Raises:
        OSError: there is none that only we can use.
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
    """Is it ours alone? Whoever else could write there could pretend to be one of our processes.

    Raises:
        OSError: it is not; the message says how to help that.
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
    """A path that can be the address of a socket.

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
    """The names that are taken, and their paths. Some may belong to nobody any more, and one name
    may have been taken in several directories."""
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
    """Where a process of this name may be, the best place first. It need not be at the first: there
    may lie what another one left behind."""
    return [path for each, path in sockets() if each == name]


def connect(path: str, seconds: float | None = None) -> _socket.socket:
    """A connection to a process.

    Raises:
        OSError: nobody listens there.
        NotAttached: somebody does who is neither us nor the administrator.
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
    """The user at the other end; None where a system cannot tell."""
    if sys.platform == "linux":
        found = wire.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return int.from_bytes(found[4:8], sys.byteorder)
    if sys.platform == "darwin" or "freebsd" in sys.platform:
        # `struct xucred` of LOCAL_PEERCRED: a version, and then the user.
        found = wire.getsockopt(0, 1, 76)
        return int.from_bytes(found[4:8], sys.byteorder)
    return None


def ask(wire: _socket.socket, what: str, **more: str | None) -> bytes:
    """Say what is wanted, and read the line that answers. All values are plain words.

    Raises:
        Refused: the answer is no.
        OSError: the process has gone.
    """
    say(wire, what, **more)
    return answer(wire)


def say(wire: _socket.socket, what: str, **more: str | None) -> None:
    """Say what is wanted.

    Raises:
        OSError: the process has gone.
    """
    wire.sendall(_line(what, more))


def hand(wire: _socket.socket, descriptors: list[int], what: str, **more: str | None) -> None:
    """The same, and give descriptors with it.

    Raises:
        OSError: the process has gone.
    """
    rights = b"".join(each.to_bytes(4, sys.byteorder) for each in descriptors)
    wire.sendmsg([_line(what, more)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])


def _line(what: str, more: dict[str, str | None]) -> bytes:
    members = {"ask": what, **{name: value for name, value in more.items() if value is not None}}
    words = "".join(f',"{name}":"{value}"' for name, value in members.items())
    return f'{{"toolhaft":{VERSION}{words}}}\n'.encode()


def answer(wire: _socket.socket) -> bytes:
    """The line that answers.

    Raises:
        Refused: it says no.
        OSError: the process has gone.
    """
    line = read_line(wire)
    if b'"error"' in line:
        from .messages import error_in  # noqa: PLC0415

        if (error := error_in(line)) is not None:
            raise Refused(error)
    return line


def read_line(wire: _socket.socket) -> bytes:
    """One line, and nothing of what follows it.

    Raises:
        OSError: it does not come.
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
    """Who is there, for a person who looked for somebody else."""
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
    """Directories in which nobody is looked for, and why."""
    told: list[str] = []
    for directory in directories():
        try:
            check_directory(directory)
        except FileNotFoundError:
            continue
        except OSError as error:
            told.append(str(error))
    return told
