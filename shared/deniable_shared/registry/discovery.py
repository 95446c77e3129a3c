"""What a registry says of strings that are discovered: their code, and how common they must be."""

from __future__ import annotations

import binascii
import hashlib
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from deniable_shared.errors import ParameterError, RegistryError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from deniable_shared.fields import TableReader
    from deniable_shared.letters import AnyModel, LetterCode

MODELS: Final = "models"
"""The table in which a registry that is sent somewhere carries its model files, as base64."""

MAX_MODEL_BYTES: Final = 1 << 17
MAX_MINIMUM_DEVICES: Final = 10**9
DEFAULT_MINIMUM_DEVICES: Final = 100
MAX_LONGEST: Final = 64
LEAST_LONGEST_BITS: Final = 20
MAX_LONGEST_BITS: Final = 388

_FILE: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""The name of a file beside the registry: no path leads out of its folder."""
_DIGEST: Final = r"[0-9a-f]{64}"


class ModelFiles:
    """The model files that a registry names.

    Args:
        folder: the registry file's, which may be inside a zip; None for a registry that was read
            from its text alone.
        carried: what the registry's table `MODELS` has.
    """

    def __init__(self, folder: Path | Traversable | None, carried: dict[str, Any]) -> None:
        self._folder = folder
        self._carried = carried

    def read(self, name: str) -> bytes:
        """The content of a model file.

        Raises:
            ParameterError: if it is not there, cannot be read or is too large.
        """
        if name in self._carried:
            return _decoded(self._carried[name])
        if self._folder is None:
            constraint = (
                "in a file beside the registry: read the registry from its file, register it with "
                "`deniable metrics register FILE`, or pass parse() its folder"
            )
            raise ParameterError("model", constraint, name)
        try:
            with (self._folder / name).open("rb") as file:
                body = file.read(MAX_MODEL_BYTES + 1)
        except OSError as error:
            constraint = (
                f"a file beside the registry that can be read ({error.strerror or 'not found'})"
            )
            raise ParameterError("model", constraint, name) from error
        if len(body) > MAX_MODEL_BYTES:
            raise ParameterError("model", f"a file of at most {MAX_MODEL_BYTES:,} bytes", name)
        return body


def parse_letters(table: TableReader, files: ModelFiles) -> tuple[LetterCode | None, int | None]:
    """The code of a string metric, from its table in a registry file.

    Args:
        table: its fields ``discover``, ``longest``, ``longest_bits``, ``alphabet``,
            ``minimum_devices``, ``model`` and ``model_digest``.

    Returns:
        The code, and how many devices a string must be of at least to be shown; None for both if
        strings are not discovered, or there were problems.
    """
    discover = table.read("discover", "true or false", lambda v: type(v) is bool, default=None)
    longest = table.integer("longest", 1, MAX_LONGEST, default=None)
    longest_bits = table.integer("longest_bits", LEAST_LONGEST_BITS, MAX_LONGEST_BITS, default=None)
    alphabet = table.text("alphabet", default=None)
    minimum = table.integer("minimum_devices", 1, MAX_MINIMUM_DEVICES, default=None)
    file_name = table.text("model", _FILE, default=None)
    digest = table.text("model_digest", _DIGEST, default=None)
    shape = {
        "longest": longest,
        "longest_bits": longest_bits,
        "alphabet": alphabet,
        "minimum_devices": minimum,
        "model": file_name,
        "model_digest": digest,
    }
    if not discover:
        for name, value in shape.items():
            if value is not None:
                table.add_problem(name, "left out without discover = true", value)
        return None, None
    if not table.failed and (file_name is None) != (digest is None):
        table.add_problem("model_digest", "given with model, and only then", digest)
    if table.failed:
        return None, None
    # Imported here: a device without such a metric need not load it.
    from deniable_shared.letters import DEFAULT_LONGEST, LetterCode, shipped_model

    try:
        model = shipped_model() if file_name is None else _model(files.read(file_name), digest)
        if longest is None and longest_bits is None:
            longest = DEFAULT_LONGEST
        letters = LetterCode(alphabet or "text", longest, model, longest_bits)
    except ParameterError as error:
        table.add_problem(error.name, error.constraint, error.value)
        return None, None
    return letters, minimum or DEFAULT_MINIMUM_DEVICES


def _model(body: bytes, digest: str | None) -> AnyModel:
    """The model in a file, if it is the file that the registry means.

    Raises:
        ParameterError: if it is not.
    """
    from deniable_shared.letters import model_in_file

    actual = hashlib.sha256(body).hexdigest()
    if actual != digest:
        raise ParameterError("model_digest", f"{actual}, the SHA-256 of the model file", digest)
    return model_in_file(body)


def _decoded(text: object) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ParameterError("model", f"base64 in the table {MODELS}", "something else") from error


def with_models(body: bytes, folder: Path) -> bytes:
    """A registry with the model files that it names, as it is sent to a server.

    The files stand in a table at its end, which a registry in the application need not have.

    Args:
        body: the text of the registry file, in UTF-8. A text that is not TOML is returned
            unchanged; the server that receives it reports the error.
        folder: the registry file's.

    Raises:
        RegistryError: if a model cannot be read.
    """
    try:
        data = tomllib.loads(body.decode())
    except (ValueError, RecursionError):
        return body
    tables = data.get("metrics")
    metrics = tables.values() if isinstance(tables, dict) else ()
    files_named = {metric.get("model") for metric in metrics if isinstance(metric, dict)}
    names = sorted(
        name
        for name in files_named
        if isinstance(name, str) and re.fullmatch(_FILE, name) is not None
    )
    if not names or MODELS in data:
        return body
    files = ModelFiles(folder, {})
    lines = ["", f"[{MODELS}]"]
    for name in names:
        try:
            model = binascii.b2a_base64(files.read(name), newline=False).decode()
        except ParameterError as error:
            raise RegistryError([str(error)]) from error
        lines.append(f'"{name}" = "{model}"')
    return body + "\n".join([*lines, ""]).encode()
