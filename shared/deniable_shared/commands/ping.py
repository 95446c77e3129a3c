"""``deniable ping``: whether a server answers and can do its work, for supervisors and scripts."""

from __future__ import annotations

import json
import os
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

from deniable_shared.addresses import DEFAULT_SERVER, SERVER_CONSTRAINT, Hidden, with_scheme
from deniable_shared.characters import visible
from deniable_shared.commands.parser import Parser, number_in
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    import argparse

DEFAULT_SECONDS: Final = 5.0
MOST_SECONDS: Final = 3_600
MOST_BYTES: Final = 65_536

_ABOUT: Final = """\
Asks a server whether it answers (/healthz) and can do its work (/readyz), and
prints one line. The exit status is 0 if both are so, and else 1. No key is
needed.
"""


def parser() -> Parser:
    """The options of the command."""
    command_parser = Parser("deniable ping", _ABOUT)
    command_parser.add_argument(
        "--server",
        metavar="ADDRESS",
        default=os.environ.get("DENIABLE_SERVER") or DEFAULT_SERVER,
        help=f"The aggregator's address. Also from DENIABLE_SERVER. Default: {DEFAULT_SERVER}",
    )
    command_parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=number_in(0.01, MOST_SECONDS),
        default=DEFAULT_SECONDS,
        help=f"How long to wait for each of the two answers. Default: {DEFAULT_SECONDS:g}",
    )
    command_parser.add_argument("--json", action="store_true", help="Print JSON.")
    return command_parser


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        UsageMistakeError: if the server is no address.
    """
    try:
        state = ping(options.server, options.timeout)
    except ParameterError as error:
        parser().error(str(error))
    print(json.dumps(state, indent=2) if options.json else _text(options.server, state))
    return 0 if state["answers"] and state["ready"] else 1


def ping(server: str, seconds: float) -> dict[str, Any]:
    """What is printed for programs.

    Args:
        server: the aggregator's address.
        seconds: how long to wait for each answer.

    Returns:
        ``answers`` and ``ready``; ``checks``, each "ok" or what is wrong; and ``problem``, why it
        is not ready, or None.

    Raises:
        ParameterError: if the server is no address.
    """
    address = _address(server)
    state: dict[str, Any] = {"answers": False, "ready": False, "checks": {}, "problem": None}
    try:
        status, _ = _get(address, "/healthz", seconds)
        if status != 200:
            return {**state, "problem": f"/healthz is answered with {status}"}
        state["answers"] = True
        status, answer = _get(address, "/readyz", seconds)
    except (OSError, HTTPException) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return {**state, "problem": why}
    checks = answer.get("checks")
    state["checks"] = checks if isinstance(checks, dict) else {}
    if status != 200:
        return {**state, "problem": str(answer.get("detail", f"/readyz is answered with {status}"))}
    return {**state, "ready": True}


def _address(server: str) -> SplitResult:
    """The parts of an address.

    Raises:
        ParameterError: if it is none; a password in it is not quoted.
    """
    try:
        address = urlsplit(with_scheme(server.strip().rstrip("/")))
        is_server = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:
        is_server = None
    if not is_server or address.username or address.query or address.fragment:
        raise ParameterError("server", SERVER_CONSTRAINT, Hidden())
    return address


def _get(address: SplitResult, path: str, seconds: float) -> tuple[int, dict[str, Any]]:
    """The status of an answer, and its JSON object; an empty one if it is anything else.

    Raises:
        OSError: if there is no answer, or none in time.
        HTTPException: if the answer is not HTTP.
    """
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = kind(address.hostname or "", address.port, timeout=seconds)
    try:
        connection.request("GET", address.path + path)
        answer = connection.getresponse()
        content = answer.read(MOST_BYTES)
    finally:
        connection.close()
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    return answer.status, document if isinstance(document, dict) else {}


def _text(server: str, state: dict[str, Any]) -> str:
    """What is printed for people: one line."""
    name = visible(server)
    if state["ready"]:
        return f"{name} answers and is ready"
    problem = visible(state["problem"])
    if state["answers"]:
        return f"{name} answers but is not ready: {problem}"
    return f"{name} does not answer: {problem}"
