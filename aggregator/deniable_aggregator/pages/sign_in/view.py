"""What the page for signing in says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why a token was refused.

    Attributes:
        title: in a few words.
        text: what was wrong and what to do next.
        command: one that helps, or nothing.
        status: of HTTP.
    """

    title: str
    text: str
    command: str = ""
    status: int = 403


@dataclass(frozen=True, kw_only=True)
class SignInView:
    """The page for signing in.

    Attributes:
        next_page: where the visitor goes then.
        applications: those the visitor is signed in to already.
        refusal: why the last token was refused; None if there was none.
        form_token: of the session; empty if there is none.
        create_command: makes a key with which to sign in.
    """

    next_page: str
    applications: tuple[str, ...]
    refusal: Refusal | None
    form_token: str
    create_command: str


def create_command(application: str = "APPLICATION") -> str:
    """The command that makes a key with which to sign in.

    Args:
        application: whose metrics the key reads.
    """
    return f"deniable keys create --scope read --application {application}"


def no_token() -> Refusal:
    """Nothing was typed."""
    return Refusal(title="A token is needed", text="Paste it into the field.")


def malformed_token() -> Refusal:
    """What was typed is no token at all."""
    return Refusal(
        title="This is not a token",
        text="A token begins with deniable_read_ or deniable_admin_ and has 70 characters or so. "
        "Copy all of it. It was shown once, when the key was made; if it is lost, make another:",
        command=create_command(),
    )


def unknown_token() -> Refusal:
    """There is no key with this token, or it was revoked."""
    return Refusal(
        title="This token is not known here",
        text="Its key was revoked, or belongs to another server. Ask whoever runs this server for "
        "a token, or make a key where the store is:",
        command=create_command(),
    )


def expired_token(last_day: str) -> Refusal:
    """The key of the token has expired.

    Args:
        last_day: on which it was valid.
    """
    return Refusal(
        title="This token has expired",
        text=f"It was valid until {last_day}. Use the one that took its place, or make another:",
        command=create_command(),
    )


def write_token(application: str) -> Refusal:
    """The token is that of a device.

    Args:
        application: that the key belongs to.
    """
    return Refusal(
        title="This token can only send reports",
        text="It belongs to a write key, as applications have. To look at results, sign in with "
        "the token of a read key. This command makes one:",
        command=create_command(application),
    )


def in_the_clear(host: str) -> Refusal:
    """The page was opened without TLS over a network.

    Args:
        host: as the browser knows it.
    """
    return Refusal(
        title="This address does not keep a token secret",
        text=f"http://{host} is not encrypted, so nobody can sign in there: the network could read "
        "the token. Open the page with https://, through the proxy that ends TLS, or bring the "
        "server's port to your own machine and open http://localhost:8787/. If this network is not "
        "yours, revoke the key.",
        command="ssh -L 8787:127.0.0.1:8787 SERVER",
    )


def too_many() -> Refusal:
    """More wrong tokens came lately than are looked at closely."""
    return Refusal(
        title="This token was refused",
        text="Many wrong tokens came lately, so this one is not explained. Check that it is the "
        "whole token of a read or admin key. A right one is always let in.",
        status=429,
    )


def too_often() -> Refusal:
    """The key has opened too many sessions."""
    return Refusal(
        title="This key has signed in very often",
        text="So many sessions were opened with it that the next one has to wait. Try again in a "
        "few minutes.",
        status=429,
    )
