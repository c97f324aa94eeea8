"""The process that has imported packages and forks: `nursery.py SOCKET PACKAGE…`."""

import contextlib
import gc
import importlib
import io
import os
import runpy
import select
import signal
import socket
import sys
import types


def main(path: str, packages: list[str]) -> None:
    """Take programs until stdin ends."""
    for package in packages:
        importlib.import_module(package)
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if listener not in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            keep(connection)
            return
        connection.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # a keeper that is done


def keep(connection: socket.socket) -> None:
    """Start one program, pass signals on to it, and tell how it ended."""
    said, streams, *_ = socket.recv_fds(connection, 1 << 16, 3)
    length, _, start = said.partition(b"\n")
    while len(start) < int(length):
        more = connection.recv(1 << 16)
        if not more:  # whoever asked for it has ended
            return
        start += more
    pid = os.fork()
    if pid == 0:
        connection.close()
        be(start, streams)
        return
    for each in (*streams, 0, 1, 2):
        os.close(each)
    program = os.pidfd_open(pid)
    while program not in (ready := select.select([connection, program], [], [])[0]):
        assert ready
        numbers = connection.recv(64) or [signal.SIGKILL]
        for number in numbers:
            signal.pidfd_send_signal(program, number)
    _, status = os.waitpid(pid, 0)
    connection.sendall(b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def be(start: bytes, streams: list[int]) -> None:
    """Become the program, as if Python had just started it."""
    folder, count, *rest = map(os.fsdecode, start.split(b"\0"))
    words, own = rest[: int(count)], rest[int(count) :]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(each.split("=", 1) for each in own)
    os.chdir(folder)
    through = bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(
        io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8"
    )
    sys.stdout = sys.__stdout__ = writer(1, "strict", through=through)
    sys.stderr = sys.__stderr__ = writer(2, "backslashreplace", through=through)
    run(words)


def writer(number: int, errors: str, *, through: bool) -> io.TextIOWrapper:
    """One of the streams that are written to."""
    raw = io.FileIO(number, "wb", closefd=False)
    return io.TextIOWrapper(
        raw if through else io.BufferedWriter(raw),  # type: ignore[arg-type]
        encoding="utf-8",
        errors=errors,
        line_buffering=number == 2 or os.isatty(number),
        write_through=through,
    )


def run(words: list[str]) -> None:
    """`python WORDS…`: `-c CODE`, `-m MODULE` or a file, and what stands behind it."""
    kind, *rest = words
    if kind == "-c":
        code, *rest = rest
        sys.argv = ["-c", *rest]
        sys.path.insert(0, "")
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(code, "<string>", "exec"), vars(module))
    elif kind == "-m":
        name, *rest = rest
        sys.argv = [name, *rest]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [kind, *rest]
        sys.path.insert(0, os.path.dirname(os.path.abspath(kind)))
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
