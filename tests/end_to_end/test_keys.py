"""Keys on a real server: made and ended over HTTP, and told nowhere that they do not belong."""

from __future__ import annotations

import contextlib
import json
import secrets
import time

from click.testing import CliRunner

from deniable_aggregator import Store
from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import wire
from deniable_shared.periods import epoch_at
from tests.aggregator.service import SPECS, bearer
from tests.aggregator.stored import register
from tests.command_line import deniable as command
from tests.end_to_end import asking
from tests.end_to_end.serving import running
from tests.waiting import wait_until


def run(*arguments):
    done = CliRunner().invoke(command, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_key_lives_and_ends_on_a_running_server(tmp_path):
    target = tmp_path / "store.db"
    today = epoch_at(time.time())
    with contextlib.closing(Store(target)) as store:
        register(store)
        admin = create_key(store, scope="admin", application="flightdeck", label="", today=today)

    with (
        running(target, "--fold-seconds", "0.2") as server,
        asking.client(base_url=server.url) as http,
    ):

        def post(path, **fields):
            answer = http.post(f"/v1/keys{path}", json=fields, headers=bearer(admin))
            assert answer.is_success, answer.text
            return answer.json()

        def send(token):
            part = wire.Part(SPECS["theme"].digest, today, b"\x00")
            body = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))
            headers = {**bearer(token), "Content-Type": wire.CONTENT_TYPE}
            return http.post("/v1/reports", content=body, headers=headers).status_code

        def kept(key_id):
            return next(
                key for key in run("keys", "list", "--store", target)["keys"] if key["id"] == key_id
            )

        old = post("", scope="write", label="phones")
        old_id = old["key"]["id"]
        assert send(old["token"]) == 204
        wait_until(lambda: kept(old_id)["last_used"] in {format_day(today), format_day(today + 1)})
        new = post(f"/{old_id}/rotate", overlap_days=0)
        assert [send(old["token"]), send(new["token"])] == [204, 204]
        # On the store, beside the server, which is not told.
        run("keys", "revoke", old_id, "--store", target)
        wait_until(lambda: send(old["token"]) == 401)
        assert send(new["token"]) == 204
        verdict = run("log", "verify", "--store", target)
        acts = [entry["act"] for entry in run("log", "show", "--store", target)["entries"]]
        assert (verdict["whole"], verdict["entries"]) == (True, len(acts))
        wanted = {"key.create", "key.rotate", "key.revoke", "metrics.register", "retention.set"}
        assert wanted <= set(acts)
        output = server.output.read_text()

    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for token in (admin, old["token"], new["token"]):
        secret = token[-43:]
        assert secret not in output
        assert secret.encode() not in files
