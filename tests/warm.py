"""Python processes that start in no time: forks of one that has the package loaded and its kernels compiled.

A process of its own for each, as for `subprocess.run`, with its own streams, folder, signals and exit code; only what
an interpreter loads and compiles is shared. Where a test is about that, or about the environment, it starts Python.
"""

from __future__ import annotations

import atexit
import json
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

_SERVER = r"""
import atexit, json, os, select, signal, socket, sys, traceback
import spherevec.cli, sklearn.cluster, rich.progress
from spherevec.clustering import SphericalKMeans
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(64)
model = spherevec.train(["a b a", "b a c"] * 3, min_count=1, vector_size=8, epochs=1, threads=1)
model.infer(["a b"], threads=1), model.search("a b"), SphericalKMeans(2, random_state=1).fit(model.docs.vectors)
del model
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait for the commands
print("ready", flush=True)

def work(request):
    streams = [os.open("/dev/null", os.O_RDONLY), *(os.open(path, os.O_WRONLY) for path in request["streams"])]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 4096)
    os.chdir(request["cwd"])
    sys.argv = ["-c", *request["arguments"]]
    code = 1
    try:
        exec(compile(request["script"], "<script>", "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        os._exit(code)

while True:
    if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
        os._exit(0)  # who started this has ended
    connection, _ = listener.accept()
    if os.fork():
        connection.close()
        continue
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request = json.loads(connection.makefile().readline())
    child = os.fork()
    if child == 0:
        work(request)
    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)
"""

COMMAND = "import sys; from spherevec.cli import main; sys.exit(main(sys.argv[1:]))"


@cache
def _server() -> str:
    """Where the process listens from which others are forked; it ends with this one."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    atexit.register(folder.cleanup)
    place = f"{folder.name}/socket"
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    _SERVERS.append(process)
    return place


_SERVERS: list[subprocess.Popen[str]] = []


def run_script(script: str, *arguments: Any, cwd: Any = None) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, cwd=cwd)`."""
    place = _server()
    with (
        socket.socket(socket.AF_UNIX) as connection,
        tempfile.NamedTemporaryFile() as out,
        tempfile.NamedTemporaryFile() as err,
    ):
        connection.connect(place)
        request = {"script": script, "arguments": [str(one) for one in arguments], "cwd": str(cwd or Path.cwd())}
        connection.sendall((json.dumps({**request, "streams": [out.name, err.name]}) + "\n").encode())
        code = int(connection.makefile().readline())
        streams = [Path(file.name).read_text("utf-8") for file in (out, err)]
    return subprocess.CompletedProcess([script, *arguments], code, *streams)


def run_command(*arguments: Any, cwd: Any = None) -> subprocess.CompletedProcess[str]:
    """The command line, as `spherevec ARGUMENTS…`."""
    return run_script(COMMAND, *arguments, cwd=cwd)
