"""The reverse proxies of docs/operations/deploy: the real programs before the real server."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import trustme

from deniable_shared import wire
from deniable_shared.periods import epoch_at
from tests import watchdog
from tests.end_to_end import asking, traces
from tests.end_to_end.serving import START_SECONDS, running
from tests.end_to_end.test_kill_minus_nine import METRICS
from tests.end_to_end.test_no_identifiers import ADDRESS, HEADERS, MARKS, keys
from tests.ports import HOST, free_port

pytestmark = pytest.mark.slow

DEPLOY = Path(__file__).parents[2] / "docs" / "operations" / "deploy"
PAGE = "https://app.example.org"
STALLED = 40
OVERHEAD = 256
LARGEST = (8 << 20) - OVERHEAD
"""Reports of an upload that is just within the limit of bodies."""

NGINX = """\
daemon off;
{user}
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""


def adapted(text, changes):
    """A published file with what differs here; each of these must be in it."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def nginx(folder, port, upstream, pem, file="nginx.conf"):
    name, usual = ("relay", 8788) if file.startswith("relay") else ("telemetry", 8787)
    site = adapted(
        (DEPLOY / file).read_text(encoding="utf-8"),
        {
            f"127.0.0.1:{usual}": f"{HOST}:{upstream}",
            "listen 443 ssl": f"listen {HOST}:{port} ssl",
            f"/etc/ssl/{name}.example.org.pem": pem,
            f"/etc/ssl/private/{name}.example.org.key": pem,
            f"server_name {name}.example.org": "server_name localhost",
        },
    )
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, site=site, user=user))
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder, port, upstream, pem):
    text = adapted(
        (DEPLOY / "Caddyfile").read_text(encoding="utf-8"),
        {
            "{$AGGREGATOR:127.0.0.1:8787}": f"{HOST}:{upstream}",
            "{$SITE:telemetry.example.org} {": f"https://localhost:{port} {{\n\ttls {pem} {pem}",
            "\tadmin off": "\tadmin off\n\tauto_https disable_redirects",
        },
    )
    (folder / "Caddyfile").write_text(text)
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def pieces_of(body):
    """A body whose length is not announced."""
    return (body[start : start + 65_536] for start in range(0, len(body), 65_536))


@contextlib.contextmanager
def proxy(kind, folder, upstream, program=""):
    """A running proxy: its URL, and what verifies it."""
    program = program or kind.__name__
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    authority = trustme.CA()
    pem = folder / "server.pem"
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(pem))
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    port = free_port()
    command = kind(folder, port, upstream, str(pem))
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    watchdog.watch(process=process.pid, how=signal.SIGTERM)
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection((HOST, port)).close()
            except OSError:
                assert process.poll() is None, (folder / "output").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            else:
                break
        yield f"https://localhost:{port}", context
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def in_flight(port):
    text = asking.get(f"http://{HOST}:{port}/metrics").text
    (line,) = (line for line in text.splitlines() if line.startswith("deniable_in_flight_bytes"))
    return float(line.split()[1])


@contextlib.contextmanager
def stalled_bodies(url, context, token):
    """Connections that each send half of a body, and wait."""
    head = (
        f"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {wire.CONTENT_TYPE}\r\nContent-Length: 4096\r\n\r\n"
    )
    with contextlib.ExitStack() as stack:
        for _ in range(STALLED):
            plain = socket.create_connection((HOST, int(url.rpartition(":")[2])))
            wrapped = stack.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
            wrapped.sendall(head.encode() + bytes(2_048))
        yield


@pytest.mark.parametrize("kind", [nginx, caddy], ids=lambda kind: kind.__name__)
def test_devices_and_relays_reach_three_paths_with_whole_bodies_and_leave_nothing_behind(
    kind, tmp_path
):
    folder, store = tmp_path / "proxy", tmp_path / "store.db"
    folder.mkdir()
    tokens = keys(store)
    watched = free_port()
    with (
        running(store, "--metrics-port", str(watched), "--browser-origins", PAGE) as server,
        proxy(kind, folder, server.port) as (url, context),
        httpx.Client(
            transport=httpx.HTTPTransport(verify=context, local_address=ADDRESS),
            headers={name: value for name, value in HEADERS.items() if name != "Host"},
            timeout=asking.PATIENCE_SECONDS,
        ) as http,
    ):

        def send(payload, method="POST", path="/v1/reports", *, chunked=False, key="batch"):
            part = wire.Part(METRICS["theme"].spec.digest, epoch_at(time.time()), payload)
            body = wire.encode(wire.Upload(os.urandom(16), (part,)))
            body = pieces_of(body) if chunked else body
            headers = {
                "Authorization": f"Bearer {tokens[key]}",
                "Content-Type": wire.CONTENT_TYPE,
            }
            answer = http.request(method, url + path, content=body, headers=headers)
            if answer.status_code == 413:
                assert answer.headers["Content-Type"] == "application/problem+json"
                assert answer.json()["code"] == "upload_too_large"
            return answer.status_code

        assert send(b"\x01") == 204
        # As much as the aggregator itself takes, and more, which both proxies refuse for good.
        assert send(bytes(LARGEST)) == 204
        for size in (LARGEST + OVERHEAD, 9 << 20, 20 << 20):
            assert send(bytes(size)) == 413
            assert send(bytes(size), chunked=True) == 413
        assert send(b"\x01", "GET", "/v1/remote", key="write") == 404  # none is published
        assert send(b"\x01", path="/v1/relayed") == 403  # with another key than a relay's
        assert send(b"\x01", "GET", path="/v1/relayed") in {403, 404, 405}
        reading = {"Authorization": f"Bearer {tokens['admin']}"}
        for path in ("/v1/status", "/v1/keys", "/v1/metrics", "/readyz", "/metrics", "/"):
            answer = http.get(url + path, headers=reading)
            assert (answer.status_code, b"flightdeck" in answer.content) == (404, False), path
            assert http.options(url + path).status_code in {403, 404, 405}, path
        asked = http.options(f"{url}/v1/reports", headers={"Origin": PAGE})
        assert (asked.status_code, asked.headers["Access-Control-Allow-Origin"]) == (204, PAGE)
        assert http.delete(f"{url}/v1/reports", headers=reading).status_code in {403, 404, 405}
        with stalled_bodies(url, context, tokens["write"]):
            assert send(b"\x02") == 204
            assert in_flight(watched) == 0
        with contextlib.suppress(httpx.TransportError):
            assert send(b"\x02", path="/nothing") == 404
        assert server.stop() == 0
        assert send(b"\x01") in {502, 504}  # with the aggregator away
    sought = traces.of_text(ADDRESS) | set().union(*map(traces.of_text, MARKS))
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert not traces.left_in(file.read_bytes(), sought), file


def test_nginx_bounds_the_connections_of_an_address_and_of_no_other(tmp_path):
    folder, store = tmp_path / "proxy", tmp_path / "store.db"
    folder.mkdir()
    token = keys(store)["write"]

    def few(*given):
        command = nginx(*given)
        site = folder / "nginx.conf"
        site.write_text(adapted(site.read_text(), {"addresses 256": f"addresses {STALLED}"}))
        return command

    few.__name__ = "nginx"
    with running(store) as server, proxy(few, folder, server.port) as (url, context):

        def send(address):
            part = wire.Part(METRICS["theme"].spec.digest, epoch_at(time.time()), b"\x01")
            body = wire.encode(wire.Upload(os.urandom(16), (part,)))
            headers = {"Authorization": f"Bearer {token}", "Content-Type": wire.CONTENT_TYPE}
            transport = httpx.HTTPTransport(verify=context, local_address=address)
            with httpx.Client(transport=transport, timeout=asking.PATIENCE_SECONDS) as http:
                return http.post(f"{url}/v1/reports", content=body, headers=headers).status_code

        assert send(HOST) == 204
        with stalled_bodies(url, context, token):
            deadline = time.monotonic() + START_SECONDS
            while (status := send(HOST)) != 429:  # until it has read all of their heads
                assert (status, time.monotonic() < deadline) == (204, True)
            assert send(ADDRESS) == 204
        assert not server.stop()
    sought = traces.of_text(HOST)
    assert not traces.left_in((folder / "output").read_bytes(), sought)


BOUNDED = """
import socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
rules = open(sys.argv[1], encoding="utf-8").read()
assert rules.count("count over 256") == 2
subprocess.run(["nft", "-f", "-"], input=rules.replace("256", "8"), text=True, check=True)
for address, sources in (("127.0.0.1", ("127.0.0.2", "127.0.0.3")), ("::1", ("::1",))):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.create_server((address, 443), family=family, backlog=100)
    for source in sources:
        made = []
        for _ in range(12):
            try:
                made.append(socket.create_connection((address, 443), 5, (source, 0)))
            except OSError:
                pass
        print(address, source, len(made))
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or None in map(shutil.which, ("nft", "ip", "unshare")),
    reason="needs root and nftables",
)
def test_the_kernel_bounds_the_connections_of_an_address_in_front_of_caddy():
    command = ["unshare", "--net", sys.executable, "-c", BOUNDED, str(DEPLOY / "connections.nft")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:-1] == [
        "127.0.0.1 127.0.0.2 8",
        "127.0.0.1 127.0.0.3 8",
        "::1 ::1 8",
    ], done.stderr
