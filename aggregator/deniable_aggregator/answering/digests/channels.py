"""The ways by which a digest leaves: an incoming webhook of a chat, and mail."""

from __future__ import annotations

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import httpx

from deniable_shared.addresses import is_this_machine
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.keeping.settings import Settings
    from deniable_aggregator.telling.report.digest import Digest

    Channel = Callable[[Digest], None]

SECONDS: Final = 20.0
"""How long a delivery may take."""

SMTP_PORT: Final = 587
SMTPS_PORT: Final = 465


class DeliveryError(DeniableError):
    """A digest could not be delivered. The message has no address and no password."""


def channels_of(settings: Settings) -> Mapping[str, Channel]:
    """What the settings name, by "webhook" and "mail"; `DeliveryError` if a delivery fails."""
    channels: dict[str, Channel] = {}
    link = f"\n{settings.digest_link}\n" if settings.digest_link else ""
    if settings.digest_webhook:
        body = card_body if settings.digest_webhook_form == "card" else text_body
        channels["webhook"] = lambda digest: _post(settings.digest_webhook, body(digest, link))
    if settings.digest_mail_to:
        channels["mail"] = lambda digest: _mail(settings, mail_of(settings, digest, link))
    return channels


def text_body(digest: Digest, link: str) -> dict[str, Any]:
    """What Slack and Mattermost take: text in which nothing but our own stars is markup.

    Args:
        digest: what to say.
        link: to stand below.
    """
    parts = [f"*{_escaped(digest.subject)}*", _escaped(digest.lead)]
    for chapter in digest.chapters:
        lines = [f"• {_escaped(line)}" for line in chapter.lines]
        parts.append("\n".join([f"*{chapter.heading}*", *lines]))
    return {"text": "\n\n".join([*parts, *filter(None, [link.strip()])])}


def card_body(digest: Digest, link: str) -> dict[str, Any]:
    """What Teams takes: a message with one Adaptive Card.

    Args:
        digest: what to say.
        link: to stand below.
    """
    blocks = [_block(digest.subject, "Bolder"), _block(digest.lead)]
    for chapter in digest.chapters:
        blocks += [_block(chapter.heading, "Bolder"), *map(_block, chapter.lines)]
    content: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.2",
        "body": blocks,
    }
    if link:
        open_pages = {"type": "Action.OpenUrl", "title": "Open the pages", "url": link.strip()}
        content["actions"] = [open_pages]
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": content}]}


def _block(text: str, weight: str = "Default") -> dict[str, Any]:
    # Not a TextBlock, whose text is Markdown.
    run = {"type": "TextRun", "text": text, "weight": weight}
    return {"type": "RichTextBlock", "inlines": [run]}


def _escaped(text: str) -> str:
    """Without links, mentions and markup: a string that devices hold may have any of them."""
    for sign, instead in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, instead)
    return "".join(f"{letter}\u200b" if letter in "@*_~`[!" else letter for letter in text)


def mail_of(settings: Settings, digest: Digest, link: str) -> EmailMessage:
    """The mail with a digest.

    Args:
        settings: whom it is from and to.
        digest: what to say.
        link: to stand below.
    """
    mail = EmailMessage()
    mail["Subject"] = digest.subject
    mail["From"] = settings.digest_mail_from
    mail["To"] = settings.digest_mail_to
    mail["Date"] = formatdate()
    mail["Message-ID"] = make_msgid(domain=settings.digest_mail_from.partition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(digest.text() + link)
    return mail


def _post(url: str, body: dict[str, Any]) -> None:
    try:
        response = httpx.post(url, json=body, timeout=SECONDS, follow_redirects=False)
    except httpx.HTTPError as error:
        raise DeliveryError(f"the webhook gave no answer: {type(error).__name__}") from None
    if not response.is_success:
        raise DeliveryError(f"the webhook answered {response.status_code}")


def _mail(settings: Settings, mail: EmailMessage) -> None:
    server = urlsplit(settings.digest_mail_server)
    host = server.hostname or ""
    context = ssl.create_default_context()
    try:
        with (
            smtplib.SMTP_SSL(host, server.port or SMTPS_PORT, timeout=SECONDS, context=context)
            if server.scheme == "smtps"
            else smtplib.SMTP(host, server.port or SMTP_PORT, timeout=SECONDS)
        ) as connection:
            if server.scheme == "smtp" and not is_this_machine(host):
                connection.starttls(context=context)
            if server.username:
                connection.login(unquote(server.username), unquote(server.password or ""))
            connection.send_message(mail)
    except smtplib.SMTPResponseException as error:
        raise DeliveryError(f"the mail server answered {error.smtp_code}") from None
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryError(f"the mail server gave no answer: {type(error).__name__}") from None
