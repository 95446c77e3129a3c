"""Digests arrive at a chat and a mailbox: once, with what is news, and without names of keys."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from datetime import date, timedelta
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from aiosmtpd.controller import Controller
from msgspec.structs import replace

from deniable_aggregator import Settings, Store
from deniable_aggregator.answering.answers import Answerer
from deniable_aggregator.answering.digests.channels import card_body, text_body
from deniable_aggregator.answering.digests.runs import PAUSE_SECONDS, DigestRuns, SendingError
from deniable_aggregator.answering.digests.sending import PAUSES, due_period
from deniable_aggregator.answering.local_source import LocalSource
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.telling.report.digest import Chapter, Digest, digest_of
from deniable_aggregator.telling.report.gathering import gather
from tests.aggregator.simulating.registries import HEAD, THEME
from tests.command_line import printed, run
from tests.ports import free_port

MONDAY = date(2026, 2, 2)
HOUR = 3_600
NOON = (epoch_of(MONDAY) + 0.5) * 24 * HOUR
pytestmark = pytest.mark.service


def simulated(folder, *options):
    folder.joinpath("metrics.toml").write_text(HEAD + THEME)
    days = ("--devices", 6_000, "--days", 14, "--until", MONDAY - timedelta(1))
    printed("simulate", folder / "metrics.toml", *days, *options, "--store", folder / "store.db")
    return folder / "store.db"


@pytest.fixture(scope="module")
def eventful(tmp_path_factory):
    """Two weeks until Sunday: a change in the second, and a forger with a key."""
    change = ("--change", 30, "--change-on", MONDAY - timedelta(7))
    forger = ("--forge", "theme=dark", "--forger", "upload")
    return simulated(tmp_path_factory.mktemp("eventful"), *change, *forger)


@pytest.fixture
def store(eventful, tmp_path):
    """A copy that nothing was sent of."""
    copy = tmp_path / "store.db"
    copy.write_bytes(eventful.read_bytes())
    with contextlib.closing(Store(copy)) as opened:
        yield opened


class Chat:
    """What a webhook was sent; it answers with a status."""

    def __init__(self):
        self.bodies, self.status, chat = [], 200, self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                chat.bodies.append(json.loads(body))
                self.send_response(chat.status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/hooks/secret-path"


@pytest.fixture
def chat():
    chat = Chat()
    yield chat
    chat.server.shutdown()
    chat.server.server_close()


class Mailbox:
    """The mails that a server was given."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, _server, _session, envelope):  # noqa: N802  aiosmtpd calls it so
        self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
        return "250 OK"


class Server:
    """Looks as a server does in the background, at a time that a test moves."""

    def __init__(self, store, **settings):
        self.now = epoch_of(MONDAY) * 86_400 + 8 * HOUR
        self.runs = DigestRuns(
            store, Settings(digest_every="week", **settings), clock=lambda: self.now
        )

    def look(self, seconds=0.0):
        self.now += seconds
        self.runs.look(int(self.now // 86_400))
        self.runs.wait()


def test_a_week_comes_to_a_chat_once_with_what_is_news_and_without_keys_and_strings(store, chat):
    link = "https://t.example.org/"
    servers = [Server(store, digest_webhook=chat.url, digest_link=link) for _ in range(2)]
    for server in servers:
        server.look()
        server.look(PAUSE_SECONDS)
    (body,) = chat.bodies
    text = body["text"]
    assert text.startswith("*editor, 2026-01-26 to 2026-02-01: 1 clear change and 1 warning*")
    assert "*Clear changes*\n• Which colour theme is active: " in text
    assert "*To look at*\n• Which colour theme is active: one key answers differently" in text
    assert text.endswith("https://t.example.org/")
    assert "partner" not in text


def test_keys_and_strings_that_nobody_listed_are_named_only_if_that_is_set(store):
    source = LocalSource(Answerer(Parts(store, clock=lambda: NOON)), "editor")
    report = gather(source, due_period("week", MONDAY))
    (theme,) = report.metrics
    assert theme.estimate is not None
    texts = [
        replace(number, value=text, whole=True, told=True)
        for number, text in zip(theme.estimate.of("share"), ("swordfish", "tuna"), strict=False)
    ]
    found = replace(
        theme.estimate, numbers=texts, head=replace(theme.estimate.head, kind="strings")
    )
    theme.estimate, theme.found = None, found
    plain, detailed = (digest_of(report, details=details).text() for details in (False, True))
    assert "Which colour theme is active: 2 strings found that nobody listed." in plain
    assert "partner" not in plain
    assert "swordfish" not in plain
    assert "partner" in detailed
    assert "swordfish" in detailed


def digest_on(store, monday):
    noon = (epoch_of(monday) + 0.5) * 24 * HOUR
    source = LocalSource(Answerer(Parts(store, clock=lambda: noon)), "editor")
    return digest_of(gather(source, due_period("week", monday)), details=False)


def test_reports_that_have_stopped_are_news_once(store):
    first, second = (digest_on(store, MONDAY + timedelta(7 * weeks)) for weeks in (1, 2))
    for digest in (first, second):
        assert "there are no reports from 2026-02-02 on" in digest.text().lower()
    assert (first.is_news, second.is_news) == (True, False)
    assert "1 warning" in first.subject
    assert second.subject.endswith("nothing new")


def test_the_numbers_are_short_and_say_what_they_are_of(store):
    numbers = digest_on(store, MONDAY).chapters[-1]
    assert numbers.heading == "The numbers"
    (line,) = numbers.lines
    assert re.fullmatch(r"Which colour theme is active: [\d.]+ to [\d.]+% dark; .+\.", line)


def test_a_mail_is_plain_text_and_says_that_a_program_wrote_it(store):
    box = Mailbox()
    server = Controller(box, hostname="127.0.0.1", port=free_port())
    server.start()
    try:
        Server(
            store,
            digest_mail_to="team@example.org,owner@example.org",
            digest_mail_from="deniable@example.org",
            digest_mail_server=f"smtp://127.0.0.1:{server.port}",
        ).look()
    finally:
        server.stop()
    (mail,) = box.mails
    assert mail["Subject"].startswith("editor, 2026-01-26 to 2026-02-01: 1 clear change")
    assert {each.addr_spec for each in mail["To"].addresses} == {
        "team@example.org",
        "owner@example.org",
    }
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content_type() == "text/plain"
    lines = mail.get_content().splitlines()
    assert lines[lines.index("Clear changes:") + 1].startswith("- Which colour theme")


def test_what_fails_is_tried_again_and_given_up_and_the_address_is_nowhere(store, chat):
    chat.status = 500
    server = Server(store, digest_webhook=chat.url)
    server.look()
    for tried, pause in enumerate(PAUSES, 1):
        with pytest.raises(SendingError, match="the webhook answered 500") as raised:
            server.look()
        assert "secret-path" not in str(raised.value)
        server.look(pause / 2)
        assert len(chat.bodies) == tried
        server.look(pause)
    with pytest.raises(SendingError, match="given up after 5 attempts"):
        server.look()
    server.look(10 * HOUR)
    assert len(chat.bodies) == 1 + len(PAUSES)


def test_nothing_is_sent_before_the_hour(store, chat):
    early = Server(store, digest_webhook=chat.url, digest_hour=9)
    early.look()
    assert not chat.bodies
    early.look(HOUR)
    assert len(chat.bodies) == 1


def test_a_week_without_news_is_sent_unless_only_news_are_wanted(tmp_path, chat):
    kept = simulated(tmp_path, "--change", 0)
    copy = tmp_path / "copy.db"
    copy.write_bytes(kept.read_bytes())
    with contextlib.closing(Store(copy)) as quiet:
        server = Server(quiet, digest_webhook=chat.url, digest_when="news")
        server.look()
        server.look(24 * HOUR)
        assert not chat.bodies
    with contextlib.closing(Store(kept)) as quiet:
        Server(quiet, digest_webhook=chat.url).look()
    assert "nothing new*" in chat.bodies[0]["text"]


def test_a_server_that_is_a_day_late_sends_and_one_that_starts_again_does_not(store, chat):
    Server(store, digest_webhook=chat.url).look(24 * HOUR)
    Server(store, digest_webhook=chat.url).look(48 * HOUR)
    assert len(chat.bodies) == 1


@pytest.fixture
def on_monday(monkeypatch):
    """The day on which the command looks back."""
    monkeypatch.setattr("deniable_aggregator.doors.cli.digest.today", lambda: epoch_of(MONDAY))


@pytest.mark.usefixtures("on_monday")
def test_the_command_prints_what_would_be_sent_and_sends_it_only_if_told_to(eventful, chat):
    options = ("digest", "--store", eventful, "--digest-webhook", chat.url)
    shown = printed(*options)
    assert shown.startswith("editor, 2026-01-26 to 2026-02-01: 1 clear change and 1 warning\n")
    (data,) = json.loads(printed(*options, "--json"))
    assert data["digest"]["chapters"][1]["heading"] == "Clear changes"
    assert (data["digest"]["subject"], data["channels"]) == (shown.splitlines()[0], {})
    assert not chat.bodies
    assert "webhook: delivered" in printed(*options, "--send")
    (body,) = chat.bodies
    assert body["text"].startswith("*Trial: editor, 2026-01-26 to 2026-02-01: 1 clear change")


@pytest.mark.usefixtures("on_monday")
def test_a_trial_takes_nothing_from_the_server_that_sends(store, chat):
    printed("digest", "--store", store.path, "--digest-webhook", chat.url, "--send")
    Server(store, digest_webhook=chat.url).look()
    assert [body["text"].startswith("*Trial") for body in chat.bodies] == [True, False]


def test_a_trial_that_does_not_arrive_says_so_without_the_address(eventful, chat):
    chat.status = 404
    failed = run("digest", "--store", eventful, "--digest-webhook", chat.url, "--send")
    assert failed.exit_code == 1
    assert "webhook: the webhook answered 404" in failed.output
    assert "secret-path" not in failed.output


def test_receivers_are_tried_before_there_is_anything_to_say(tmp_path, chat):
    tmp_path.joinpath("metrics.toml").write_text(HEAD + THEME)
    store = tmp_path / "store.db"
    with contextlib.closing(Store(store)):
        pass
    printed("metrics", "register", tmp_path / "metrics.toml", "--store", store)
    said = printed("digest", "--store", store, "--digest-webhook", chat.url, "--send")
    assert said.startswith("editor: nothing to say\n")
    assert chat.bodies[0]["text"].startswith("*Trial: editor*")
    refused = run("digest", "--store", store, "--send")
    assert refused.exit_code == 2
    assert "--send needs digest_webhook or digest_mail_to" in refused.output


@pytest.mark.parametrize("weekday", range(7))
def test_the_week_is_the_last_one_that_is_over(weekday):
    period = due_period("week", MONDAY + timedelta(weekday))
    assert (period.since, period.until) == (MONDAY - timedelta(7), MONDAY - timedelta(1))


def test_what_a_device_holds_is_no_link_no_mention_and_no_markup():
    digest = Digest("a", "b", [Chapter("c", ["<!channel> @all [x](http://y) *z* `q` &"])], True)
    text = text_body(digest, "")["text"]
    for markup in ("<", "@all", "[x]", "*z*", "`q`"):
        assert markup not in text
    (attachment,) = card_body(digest, "https://t.example.org")["attachments"]
    kinds = {block["type"] for block in attachment["content"]["body"]}
    assert kinds == {"RichTextBlock"}
    assert attachment["content"]["actions"][0]["url"] == "https://t.example.org"
