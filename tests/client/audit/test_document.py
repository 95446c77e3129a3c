"""What docs/reviewer/certificates.md shows is what the commands print."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deniable_shared.commands.entry import main

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "reviewer"
NODE = shutil.which("node")

pytestmark = [pytest.mark.service, pytest.mark.audit("docs/reviewer/check-certificate.mjs")]


def shown(after):
    """The lines that the document shows after a command."""
    text = (FOLDER / "certificates.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"(?m)^\$ {re.escape(after)}\n((?:.+\n)+?)(?=\$|```)", text)
    return block


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """The certificate of the file that init writes, and what the audit printed."""
    folder, printed = tmp_path_factory.mktemp("certificate"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.chdir(folder)
        patch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit):
            main(["init", "--application", "flightdeck"])
        printed.truncate(printed.seek(0))
        with pytest.raises(SystemExit) as ended:
            main(["audit", "metrics.toml", "--certificate", "certificate.json"])
    assert ended.value.code == 0
    return folder / "certificate.json", printed.getvalue()


def test_the_printed_example_is_what_the_command_prints(certificate):
    example = shown("deniable audit metrics.toml --certificate certificate.json")
    path, printed = certificate
    assert path.exists()
    assert printed[: len(example)] == example


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_checker_s_example_is_what_it_prints(certificate):
    done = subprocess.run(
        [NODE, FOLDER / "check-certificate.mjs", certificate[0]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == shown("node check-certificate.mjs certificate.json")
