"""Tools that do what no tool should do: the call may fail, and the server serves on.

What tools raise, and that they fork or close the standard descriptors, is tried in
`tests/transports/stdio/test_process.py` and `tests/transports/http/servers/test_wild_tools.py`.
"""

import pytest
from tests.robustness.conftest import Opens
from tests.robustness.doors import MIB, Door, settle
from tests.transports.http.servers.web import eventually

SOURCE = """
import ctypes, gc, io, locale, logging, random, shutil, tempfile, warnings

kept = []

class Odd:
    def __repr__(self):
        raise SystemExit("in a repr")
    __str__ = __repr__

class OddError(Exception):
    def __str__(self):
        raise KeyboardInterrupt("in a message")

@server.tool
async def wild(what: str) -> str:
    return await WILD[what]() or "done"

@server.tool
def wild_on_a_thread(what: str) -> str:
    return asyncio.run(WILD[what]()) or "done"

async def change_folder():
    os.chdir("/")

async def remove_its_folder():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)

async def clear_the_environment():
    os.environ.clear()

async def print_much():
    for _ in range(2000):
        print("x" * 100)

async def close_the_streams():
    sys.stdout.close()

async def replace_the_streams():
    sys.stdout = sys.stderr = io.StringIO()

async def no_streams():
    sys.stdout = sys.stderr = None

async def log_to_stdout():
    logging.basicConfig(stream=sys.__stdout__, force=True, level=0)
    logging.error("hello")

async def break_the_log():
    class Broken(logging.Handler):
        def emit(self, record):
            raise RuntimeError("in a handler")
    logging.getLogger().addHandler(Broken())

async def log_what_fails():
    with contextlib.suppress(RuntimeError):
        logging.error("%d %s", "x")
    with contextlib.suppress(RuntimeError):
        logging.error("%s", Odd())

async def warn():
    warnings.simplefilter("error")
    warnings.warn("now an error")

async def signal_handlers():
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, lambda *_: say("alarm"))
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

async def alarm():
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, lambda *_: 1 / 0)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        await asyncio.sleep(0.05)

async def leave_threads():
    for _ in range(20):
        threading.Thread(target=time.sleep, args=(60,)).start()

async def thread_that_raises():
    def fail():
        raise SystemExit("in a thread")
    threading.excepthook = lambda *_: 1 / 0
    threading.Thread(target=fail).start()

async def leave_tasks():
    async def spin():
        while True:
            await asyncio.sleep(0.1)
    for _ in range(50):
        kept.append(asyncio.ensure_future(spin()))

async def leave_futures():
    for _ in range(200):
        asyncio.get_running_loop().create_future().set_exception(SystemExit("unseen"))

async def cancel_itself():
    asyncio.current_task().cancel()
    await asyncio.sleep(0)

async def swallow_cancellation():
    asyncio.current_task().cancel()
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        return "swallowed"

async def exception_handler():
    asyncio.get_running_loop().set_exception_handler(lambda *_: 1 / 0)
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(0.01)

async def close_the_loop():
    asyncio.get_running_loop().close()

async def debug_the_loop():
    asyncio.get_running_loop().set_debug(True)
    await asyncio.sleep(0.01)
    asyncio.get_running_loop().set_debug(False)

async def task_factory():
    class Task(asyncio.Task):
        pass
    def made(loop, coroutine, **options):
        return Task(coroutine, loop=loop, **options)
    asyncio.get_running_loop().set_task_factory(made)

async def default_executor():
    await asyncio.get_running_loop().shutdown_default_executor()

async def block():
    time.sleep(0.3)

async def recursion():
    return await recursion()

async def recursion_limit():
    sys.setrecursionlimit(120)
    try:
        return await recursion()
    finally:
        sys.setrecursionlimit(1000)

async def deep_result():
    value = []
    for _ in range(50_000):
        value = [value]
    return value

async def circular():
    value = {}
    value["self"] = value
    return value

async def huge():
    return "x" * (17 * 1024 * 1024)

async def odd_error():
    raise OddError

async def odd_value():
    return Odd()

async def error_with_much_text():
    raise ToolError("x" * 1_000_000)

async def group():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(recursion())
        tasks.create_task(asyncio.sleep(10))

async def memory():
    raise MemoryError

async def no_memory():
    return "x" * (1 << 60)

async def garbage():
    gc.disable()
    gc.collect()
    gc.enable()

async def trace():
    def tracer(*_):
        raise RuntimeError("in a trace")
    sys.settrace(None)
    sys.setprofile(None)

async def random_seed():
    random.seed(1)

async def exit_handlers():
    import atexit
    atexit.register(lambda: 1 / 0)

async def modules():
    sys.modules.pop("json", None)
    sys.modules.pop("toolhaft", None)

async def excepthook():
    sys.unraisablehook = lambda *_: 1 / 0

    class Last:
        def __del__(self):
            raise SystemExit("in a finaliser")
    Last()

async def umask():
    os.umask(0o777)
    os.umask(0o022)

async def nice():
    os.nice(1)

async def child_that_stays():
    kept.append(subprocess.Popen(["sleep", "20"]))

async def child_that_writes():
    subprocess.run([sys.executable, "-c", "print('x' * 100000)"], timeout=20)

async def many_files():
    kept.extend(open("/dev/null") for _ in range(100))

async def sleep_for_ever():
    await asyncio.wait_for(asyncio.Event().wait(), 0.05)

async def iterate_for_ever():
    async def numbers():
        while True:
            yield 1
    kept.append(numbers())
    await anext(kept[-1])

WILD = {name: value for name, value in dict(globals()).items()
        if asyncio.iscoroutinefunction(value)}

@server.tool
async def endless(ctx: Context):
    number = 0
    while True:
        number += 1
        yield number
        await asyncio.sleep(0)

@server.tool
def endless_on_a_thread(ctx: Context):
    while True:
        yield 1

@server.tool
async def never() -> str:
    await asyncio.Event().wait()

@server.tool
async def names() -> str:
    return " ".join(sorted(WILD))
"""
# Those end the loop or the process by its own means, or need the loop to be theirs.
ON_THE_LOOP_ONLY = {"cancel_itself", "swallow_cancellation", "close_the_loop",
                    "task_factory", "exception_handler", "default_executor", "block", "names",
                    "signal_handlers", "alarm"}  # fmt: skip
WILD = sorted(
    line.split()[2].removesuffix("():")
    for line in SOURCE.splitlines()
    if line.startswith("async def ") and line.endswith("():")
)


def test_the_list_is_whole() -> None:
    assert len(WILD) > 45


@pytest.mark.parametrize("what", WILD)
def test_a_tool_that_does_it_harms_nobody(opens_once: Door, what: str) -> None:
    opens_once.call("wild", what=what)

    settle(0.02)
    opens_once.works()
    assert opens_once.call("slow", seconds=0.01).text == "slept"


@pytest.mark.parametrize("what", [each for each in WILD if each not in ON_THE_LOOP_ONLY])
def test_a_tool_that_does_it_on_a_thread_harms_nobody(opens_once: Door, what: str) -> None:
    opens_once.call("wild_on_a_thread", what=what)

    opens_once.works()
    assert opens_once.call("slow", seconds=0.01).text == "slept"


@pytest.fixture(scope="module")
def opens_once(door: Door) -> Door:
    """All of them in one process, one after the other: what one leaves, the next ones meet."""
    return door


@pytest.mark.parametrize("name", ["endless", "endless_on_a_thread", "never"])
def test_a_call_without_end_can_be_taken_back(opens: Opens, name: str) -> None:
    door = opens(SOURCE)
    before = door.memory

    pending = [door.begin(name) for _ in range(5)]
    settle(0.3)
    door.works()
    for each in pending:
        each.cancel()

    door.works()
    # A session keeps what a stream sent last, for a client that may come back for it.
    door.memory_comes_back(before, 64 * MIB)
    eventually(lambda: door.call("slow", seconds=0.01).text == "slept", "an idle server")
