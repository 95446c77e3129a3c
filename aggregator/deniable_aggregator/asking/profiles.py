"""Where the server and the token come from: arguments, a profile, or the environment.

    [default]
    server = "https://telemetry.example.org"
    token_file = "~/.config/deniable/read.token"

    [staging]
    server = "https://staging.example.org"
    token = "..."

This is ``$XDG_CONFIG_HOME/deniable/profiles.toml``, by default in ``~/.config``. It and the files
with tokens are refused if other users of the machine may read them.
"""

from __future__ import annotations

import os
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.asking.credentials import AskingError, Token, check_server
from deniable_shared.addresses import DEFAULT_SERVER
from deniable_shared.errors import ParameterError
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILE: Final = "DENIABLE_PROFILE"
SERVER: Final = "DENIABLE_SERVER"
TOKEN: Final = "DENIABLE_TOKEN"  # noqa: S105  the variable's name
BATCH_KEY: Final = "DENIABLE_BATCH_KEY"
"""The variable with the key that simulated reports are sent with."""

TOKEN_FILE: Final = "DENIABLE_TOKEN_FILE"  # noqa: S105  the variable's name
DEFAULT_PROFILE: Final = "default"

_FIELDS: Final = ("server", "token", "token_file")
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Profile:
    """A server and a token under a name.

    Attributes:
        name: of the profile.
        server: the address.
        token: the token, or None for that of the environment.
    """

    name: str
    server: str
    token: Token | None


@dataclass(frozen=True)
class Access:
    """What a server is asked with.

    Attributes:
        server: its address.
        token: the token, or None where there is none.
    """

    server: str
    token: Token | None


def find_access(
    profile: str | None = None,
    server: str | None = None,
    token: str | Token | None = None,
    *,
    environment: Mapping[str, str] | None = None,
) -> Access:
    """The server and the token to ask with.

    What is given here comes first, then what the named profile says, then the variables
    DENIABLE_SERVER, DENIABLE_TOKEN and DENIABLE_TOKEN_FILE, then the profile that DENIABLE_PROFILE
    names or that is called default, then ``http://127.0.0.1:8787``. The token of a profile is sent
    to the server of this profile only.

    Args:
        profile: the name of a profile.
        server: an address.
        token: a token.
        environment: variables; by default those of the process.

    Raises:
        AskingError: if there is no such profile, or a file may be read by others or not at all.
        ParameterError: if something is no address, or no token.
    """
    variables = os.environ if environment is None else environment
    named = None if profile is None else load_profile(profile, variables)
    found_server = server or (named and named.server) or variables.get(SERVER) or None
    found_token = _checked(token) or _token_of(named, found_server) or _token_given(variables)
    if found_server is None or found_token is None:
        usual = _usual_profile(variables) if named is None else None
        found_server = found_server or (usual and usual.server) or DEFAULT_SERVER
        found_token = found_token or _token_of(usual, found_server)
    return Access(check_server(found_server), found_token)


def require_token(access: Access, environment: Mapping[str, str] | None = None) -> Token:
    """The token.

    Raises:
        AskingError: if there is none, saying where it is looked for.
    """
    if access.token is not None:
        return access.token
    path = profiles_path(os.environ if environment is None else environment)
    raise AskingError(
        f"there is no token for {access.server}: set {TOKEN} or {TOKEN_FILE}, or run deniable "
        f"profiles add, which writes {path}. deniable keys create --scope read makes a token",
        "no_token",
    )


def profiles_path(environment: Mapping[str, str]) -> Path:
    """The file with the profiles."""
    base = environment.get("XDG_CONFIG_HOME", "")
    home = Path(environment["HOME"]) if environment.get("HOME") else Path.home()
    config = Path(base) if Path(base).is_absolute() else home / ".config"
    return config / "deniable" / "profiles.toml"


def profile_names(environment: Mapping[str, str] | None = None) -> list[str]:
    """The names of the profiles, in their order; none where there is no file.

    Raises:
        AskingError: if the file may be read by others, or is no profiles.toml.
    """
    path = profiles_path(os.environ if environment is None else environment)
    return list(_read(path)) if path.exists() else []


def load_profile(name: str, environment: Mapping[str, str]) -> Profile:
    """A profile by its name.

    Args:
        name: of the profile.
        environment: says where the file is.

    Raises:
        AskingError: if there is none, or a file may be read by others or not at all.
        ParameterError: if its server is no address, or its token no token.
    """
    path = profiles_path(environment)
    profiles = _read(path) if path.exists() else {}
    if name not in profiles and "://" in name:
        raise AskingError(
            f"{name} is an address, and no profile has such a name: give it as the server "
            "(--server, or server= in Python)",
            "unknown_profile",
        )
    if name not in profiles:
        known = f"There are {', '.join(profiles)}." if profiles else "There is none."
        raise AskingError(
            f"there is no profile {name!r} in {path}.{did_you_mean(name, profiles)} {known} "
            f"deniable profiles add {name} --server ADDRESS makes it",
            "unknown_profile",
        )
    fields = profiles[name]
    whole = isinstance(fields, dict) and all(isinstance(each, str) for each in fields.values())
    if not whole or not fields.keys() <= set(_FIELDS) or "server" not in fields:
        raise _refused(path, f"[{name}] must have server, and token or token_file, as text")
    if "token" in fields and "token_file" in fields:
        raise _refused(path, f"[{name}] must have token or token_file, not both")
    token = _checked(fields.get("token"))
    if "token_file" in fields:
        token = token_in(path.parent / Path(fields["token_file"]).expanduser())
    return Profile(name, check_server(fields["server"]), token)


def _usual_profile(environment: Mapping[str, str]) -> Profile | None:
    if name := environment.get(PROFILE):
        return load_profile(name, environment)
    names = profile_names(environment)
    return load_profile(DEFAULT_PROFILE, environment) if DEFAULT_PROFILE in names else None


def _token_of(profile: Profile | None, server: str | None) -> Token | None:
    """The token of a profile, unless another server is asked."""
    if profile is None or server is None or check_server(server) != profile.server:
        return None
    return profile.token


def _token_given(environment: Mapping[str, str]) -> Token | None:
    if text := environment.get(TOKEN):
        return Token(text)
    if name := environment.get(TOKEN_FILE):
        return token_in(Path(name))
    return None


def _checked(token: str | Token | None) -> Token | None:
    return Token(token) if isinstance(token, str) else token


def token_in(path: Path) -> Token:
    """The token in a file that nobody else may read.

    Raises:
        AskingError: if there is no such file, others may read it, or it has no token.
    """
    try:
        return Token(_private_text(path))
    except ParameterError:
        raise _refused(path, "must hold a token and nothing else") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_private_text(path))
    except tomllib.TOMLDecodeError as error:
        raise _refused(path, f"is not TOML: {error}") from None


def _private_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & _OTHERS:
                raise _refused(path, f"may be read or written by others. Run: chmod 600 {path}")
            return file.read().decode()
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _refused(path, "must be UTF-8 text") from None


def _refused(path: Path, why: str) -> AskingError:
    return AskingError(f"{path}: {why}", "refused_profile")
