from __future__ import annotations

import pytest

from deniable_shared.addresses import is_this_machine


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True),
        ("LOCALHOST:8787", True),
        ("127.0.0.1", True),
        ("127.8.8.8:1", True),
        ("[::1]:8787", True),
        ("", False),
        ("10.0.0.1", False),
        ("0.0.0.0", False),
        ("example.org", False),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
        ("localhost@example.org", False),
        ("example.org#localhost", False),
        ("localhost\n", False),
        ("127.0.0.1:8787:1", False),
        ("१२७.0.0.1", False),
    ],
)
def test_only_a_host_that_no_network_lies_before_is_this_machine(host, here):
    assert is_this_machine(host) == here
