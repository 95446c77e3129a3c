"""Pages work by keyboard alone, without script, without motion, and with colours of the system."""

from __future__ import annotations

FOCUSED = """() => {
    const each = document.activeElement, style = getComputedStyle(each);
    const box = each.getBoundingClientRect();
    return {
        id: each.id, name: each.localName, text: each.textContent.trim().slice(0, 40),
        seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
        inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
        place: [...document.querySelectorAll("*")].indexOf(each),
    };
}"""


def test_the_keyboard_reaches_everything_in_order_and_shows_where_it_is(visit):
    with visit() as tab:
        tab.open("/metric/theme")
        places = []
        for _ in range(200):
            tab.page.keyboard.press("Tab")
            focused = tab.page.evaluate(FOCUSED)
            if focused["name"] == "body":
                break
            assert focused["seen"], focused
            assert focused["inside"], focused
            places.append(focused)
        assert places[0]["text"] == "Skip to content"
        assert [each["place"] for each in places] == sorted(each["place"] for each in places)
        assert {"select", "summary", "button", "a"} <= {each["name"] for each in places}


def test_a_choice_is_made_and_details_are_opened_by_keyboard(visit):
    with visit() as tab:
        tab.open("/metric/theme")
        tab.page.get_by_text("More choices").focus()
        tab.page.keyboard.press("Enter")
        tab.page.locator("select[name=by]").focus()
        tab.page.keyboard.press("d")
        tab.page.wait_for_url("**by=day*")
        assert tab.page.locator("main h1").inner_text() == "Which colour theme is active"
        tab.page.locator("#export > summary").focus()
        tab.page.keyboard.press("Enter")
        assert tab.page.locator("#export").get_attribute("open") is not None


def test_every_control_works_without_script(visit):
    with visit(java_script_enabled=False) as tab:
        tab.open("/metric/theme")
        tab.page.locator("select[name=period]").select_option("all")
        tab.page.locator("select[name=compare]").select_option("none")
        tab.page.locator("form.controls").get_by_role("button", name="Show").click()
        tab.page.wait_for_url("**period=all*")
        assert tab.page.locator("select[name=period]").input_value() == "all"
        assert tab.page.locator("p.finding").inner_text()
        tab.page.locator("#all-values ~ .table th a").first.click()
        tab.page.wait_for_url("**sort=*")
        assert "period=all" in tab.page.url
        tab.page.locator("#export > summary").click()
        assert tab.page.locator("#export a").first.is_visible()


def test_a_page_respects_less_motion_and_colours_of_the_system(visit):
    with visit(reduced_motion="reduce", forced_colors="active") as tab:
        tab.open("/metric/theme")
        assert tab.page.evaluate("document.getAnimations().length") == 0
        tab.check_layout()
