"""Signing in and out, as a person does."""

from __future__ import annotations

import re

import pytest


def test_a_page_asks_for_a_token_and_is_shown_afterwards(visit, deployment):
    with visit("") as tab:
        tab.open("/plan")
        assert "/sign-in" in tab.page.url
        tab.page.get_by_label("Token").fill(deployment.tokens["read"])
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url(re.compile(r"[0-9]/plan$"))
        assert deployment.tokens["read"] not in tab.page.content()


@pytest.mark.parametrize("token", ["", "wrong", "<script>alert(1)</script>", "\u202eтокен"])
def test_a_wrong_token_is_refused_in_words(visit, token):
    with visit("") as tab:
        tab.open("/sign-in")
        field = tab.page.get_by_label("Token")
        field.evaluate("field => field.required = false")
        field.fill(token)
        tab.expect_refusal("/sign-in")
        tab.page.get_by_role("button", name="Sign in").click()
        said = tab.page.get_by_role("alert")
        said.wait_for()
        assert said.inner_text()
        assert not token or token not in tab.page.content()


def test_who_has_signed_out_sees_no_page_by_going_back(visit, deployment):
    with visit("") as tab:
        tab.sign_in(deployment.tokens["read"])
        tab.page.get_by_role("button", name="Sign out").click()
        tab.page.wait_for_url("**/sign-in*")
        tab.page.go_back()
        tab.page.wait_for_url("**/sign-in*")
        assert tab.page.context.cookies() == []


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(visit):
    with visit() as tab:
        tab.open("/")
        (cookie,) = tab.page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert tab.page.evaluate("document.cookie") == ""
