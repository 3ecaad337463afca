"""How the reward server ends: everybody is answered, nothing is waited for longer than the grace, told twice it hurries."""

import threading
import time

import pytest
from support.load import PATIENCE, allowed

pytest.importorskip("starlette", reason="pip install 'markbook[serve]'")
httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

from test_server import SLEEP, Running, in_background, item, settings, until  # noqa: E402 - after the extra is known

from markbook.errors import OutputError  # noqa: E402
from markbook.serve.serve import _listen, bind  # noqa: E402

ENDLESS = {"code": "import time\ntime.sleep(500)\n", "language": "python", "run_timeout": 500}


def run_in_background(address, found):
    thread = threading.Thread(
        target=lambda: found.append(httpx.post(f"{address}/run_code", json=ENDLESS, timeout=PATIENCE)), daemon=True
    )
    thread.start()
    return thread


def test_programs_that_run_and_wait_are_answered_when_the_server_ends():
    server = Running(settings(), grace=0.3)
    programs = server.server._programs
    found = []
    threads = [run_in_background(server.address, found)]
    until(lambda: programs._seats[0].asked is not None)
    threads.append(run_in_background(server.address, found))
    until(lambda: programs._queue._waiting)
    began = time.monotonic()
    server.drain()
    for thread in threads:
        thread.join(PATIENCE)
    server.join()
    assert time.monotonic() - began < allowed(15)
    ran, waited = sorted(found, key=lambda got: got.status_code)
    assert (ran.status_code, ran.json()["status"], ran.json()["run_result"]) == (200, "SandboxError", None)
    assert ran.json()["message"] == "the server shut down before it ended"
    assert (waited.status_code, waited.json()["error"]) == (503, "the server shut down before the program was run")


def test_a_server_that_is_told_twice_to_end_hurries():
    server = Running(settings(), grace=500)
    found = []
    asked = in_background(server.address, {"items": [item(SLEEP, timeout=50)]}, found)
    program = run_in_background(server.address, found)
    until(lambda: server.pool.running == 1 and server.server._programs._seats[0].asked is not None)
    server.drain()
    until(lambda: server.pool.is_closing)
    assert found == []
    server.drain()
    asked.join(PATIENCE)
    program.join(PATIENCE)
    server.join()
    by_path = {got.request.url.path: got.json() for got in found}
    assert by_path["/v1/mark"]["results"][0]["reason"] == "unavailable"
    assert by_path["/run_code"]["status"] == "SandboxError"


def test_of_two_servers_at_one_address_the_later_says_so():
    first = bind("127.0.0.1", 0)
    port = first.getsockname()[1]
    second = bind("127.0.0.1", port)  # none of them listens yet
    _listen(first)
    with pytest.raises(OutputError, match=rf"127.0.0.1:{port} cannot be used: .*\(--port names another"):
        _listen(second)
    with pytest.raises(OutputError, match=rf"127.0.0.1:{port} cannot be used"):
        bind("127.0.0.1", port)
    first.close()
    second.close()
