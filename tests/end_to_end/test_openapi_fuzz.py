"""Whatever the OpenAPI document allows, and what it does not, is asked of the running server."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import time
from pathlib import Path

import pytest

from deniable_shared import wire
from deniable_shared.periods import epoch_at
from tests.end_to_end import asking
from tests.end_to_end.serving import running
from tests.end_to_end.test_kill_minus_nine import METRICS
from tests.end_to_end.test_no_identifiers import keys
from tests.repetitions import SMALL, full_or_small

pytestmark = pytest.mark.slow

EXAMPLES = full_or_small(60, 4)
"""For each operation."""

LEFT_OUT = "positive_data_acceptance"
"""A day of 1812, a key that is not there, or candidates of another metric have the right form, and
are refused all the same."""


def test_every_answer_is_one_that_the_document_promises(tmp_path):
    store = tmp_path / "store.db"
    tokens = keys(store)
    with running(store, "--read-rate-limit", "") as server:
        for metric, payload in (("theme", b"\x00\x01\x02" * 40), ("late", b"\x00\x01" * 30)):
            part = wire.Part(METRICS[metric].spec.digest, epoch_at(time.time()), payload)
            headers = {
                "Authorization": f"Bearer {tokens['batch']}",
                "Content-Type": wire.CONTENT_TYPE,
            }
            body = wire.encode(wire.Upload(os.urandom(16), (part,)))
            answer = asking.post(f"{server.url}/v1/reports", content=body, headers=headers)
            assert answer.status_code == 204
        command = [Path(sysconfig.get_path("scripts")) / "schemathesis", "run", "--no-color"]
        command += [f"{server.url}/openapi.json", "-H", f"Authorization: Bearer {tokens['admin']}"]
        command += ["--max-examples", str(EXAMPLES), "--seed", "1", "--generation-database", "none"]
        command += ["--exclude-checks", LEFT_OUT]
        if SMALL:  # trying the ends of every parameter takes two thirds of the time
            command += ["--phases", "examples,fuzzing"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "SCHEMATHESIS_HOOKS": f"{__package__}.openapi_hooks"}
            | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
        assert server.stop() == 0
    # No unexpected failure, which would have been logged.
    assert len(server.output.read_text().splitlines()) == 1
