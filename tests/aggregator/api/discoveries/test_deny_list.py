"""Which strings a deny list hides."""

from __future__ import annotations

import pytest

from deniable_aggregator.answering.discoveries.questions import (
    DenyList,
    deny_list_notices,
    read_deny_list,
)
from deniable_shared.errors import ParameterError


@pytest.mark.parametrize(
    ("line", "text", "denied"),
    [
        ("rude", "rude", True),
        ("rude", "RUDE", True),
        ("Straße", "STRASSE", True),
        ("file", "\ufb01le", True),  # a ligature
        ("rude", "rudeness", False),
        ("rude*", "rudeness", True),
        ("*rude*", "how rude!", True),
        ("r?de", "ride", True),
        ("r?de", "rde", False),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("[ab]", "a", False),
        ("*a*a*a*a*a*a*a*a*b", "a" * 64, False),
    ],
)
def test_a_line_is_a_whole_string_in_any_case_with_wildcards(line, text, denied):
    assert DenyList([line]).denies(text, whole=True) is denied


@pytest.mark.parametrize(
    ("line", "prefix", "denied"),
    [
        ("opentelemetry", "opentele", True),
        ("opentelemetry", "openssl", False),
        ("open", "opentele", False),
        ("open*", "opentele", True),
        ("opentele*", "open", True),
        ("open?elemetry", "opentele", True),
        ("*tele*", "opentele", True),
        ("*metry", "opentele", False),
        ("*.internal", "www.", False),
    ],
)
def test_a_prefix_is_denied_if_a_denied_string_begins_with_it(line, prefix, denied):
    assert DenyList([line]).denies(prefix, whole=False) is denied


def test_an_operator_is_told_of_lines_that_look_mangled_and_of_a_file_that_cannot_be_read(tmp_path):
    file = tmp_path / "deny.txt"
    file.write_bytes(b' rude \n*bad*\n"quoted"\ncounted\t12\n')
    told = list(deny_list_notices(str(file)))
    assert len(told) == 2
    assert "deny_list: 1 value in quotes, such as '\"quoted\"': taken as it stands." in told
    assert any("with a tab" in line for line in told)
    file.write_bytes(b"\xff")
    (told,) = deny_list_notices(str(file))
    assert told.endswith("Without it no string is shown.")
    assert list(deny_list_notices("")) == []


def test_a_file_has_a_line_each(tmp_path):
    """No line is a comment: a string may begin with any character."""
    file = tmp_path / "deny.txt"
    file.write_bytes("\ufeffsecret\r\n\n rude \n#rude\n*bad*\ncafe\u0301\n".encode())
    denied = DenyList(read_deny_list(str(file)))
    for text in ("secret", "rude", "#rude", "so bad!", "caf\u00e9"):
        assert denied.denies(text, whole=True)
    assert list(read_deny_list("")) == []
    file.write_bytes(b"\xff")
    for path in (file, tmp_path / "absent"):
        with pytest.raises(ParameterError, match="deny_list must be a UTF-8 file"):
            read_deny_list(str(path))
