"""Which values are how common: by day, version of the application and key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.simulating.population import DAYS_PER_WEEK, Samples, numbered, zipf
from field.deployment import appears

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from deniable_aggregator.simulating.population import Situation, Value

    Law = dict[Value, float]

LATE_EMOJI: Final = "🦄 late"
"""Nobody holds it before it appears."""

SEARCHED: Final = (
    *("weather", "music", "天气", "news", "Größe", "shop", "dark-mode", "tea", "map"),
    "opentelemetry-instrumentation",
)
"""What is searched for most, the last one longer than what is sent."""

RARELY_SEARCHED: Final = tuple(
    "".join("aeiou"[number // 20**place % 5] + "bdfgklmnprst"[number // 7**place % 12]
            for place in (0, 1, 2))
    for number in range(300)
)  # fmt: skip
"""Words that differ from the first letters on, so that few beginnings are common."""

LATE_TERM: Final = "unicorn"
"""Nobody searches for it before it appears, and the analyst never lists it."""


def dark_mode(at: Situation) -> Law:
    """More in newer versions, at weekends, and after the change."""
    dark = 0.30 + 0.05 * at.weekend + 0.08 * at.changed + 0.06 * (at.version > 1)
    return {True: dark, False: 1 - dark}


def sync(_: Situation) -> Law:
    """The same always."""
    return {True: 0.62, False: 0.38}


def browser(at: Situation) -> Law:
    """Arc is known since version 2, whose users have it more often."""
    arc = 0.02 if at.version == 1 else 0.06
    law: Law = {"Chrome": 0.45, "Safari": 0.22, "Edge": 0.12, "Firefox": 0.08, "Opera": 0.03}
    return {**law, "Arc": arc, "Vivaldi": 0.10 - arc}


def theme(at: Situation) -> Law:
    """Sepia exists since version 2."""
    if at.version == 1:
        return {"light": 0.50, "dark": 0.35, "system": 0.15}
    return {"light": 0.40, "dark": 0.36, "system": 0.14, "sepia": 0.10}


def crash(at: Situation) -> Law:
    """Rare; more often in the editor since the change, and never at export."""
    editor = 0.09 if at.changed else 0.05
    law: Law = {"startup": 0.02, "editor": editor, "export": 0.0, "print": 0.004}
    return {**law, "none": 1 - sum(law.values())}


def language(_: Situation) -> Law:
    """The same always; two are spoken that version 1 does not list."""
    law = zipf(["en", "de", "fr", "es", "it", "pl", "nl", "pt", "cs"], 1.0, 1.0)
    return dict(law)


def mode(at: Situation) -> Law:
    """Testers work otherwise; one value came with version 2."""
    channels = (
        {"stable": 0.10, "beta": 0.80, None: 0.10}
        if at.key == "beta"
        else {"stable": 0.84, "beta": 0.10, "nightly": 0.06}
    )
    split = 0.0 if at.version == 1 else 0.08
    law: Law = {}
    for channel, size in channels.items():
        source = 0.50 if channel == "beta" else 0.25
        values = {"visual": 0.90 - source - split, "source": source, "split": split, "plain": 0.10}
        law |= {(value, channel): size * part for value, part in values.items() if part}
    return law


def country(_: Situation) -> Law:
    """One item that nine of ten have."""
    return {"US": 0.9, **zipf(numbered("country", 20), 1.0, 0.1)}


def keyboard(_: Situation) -> Law:
    """Once more: how often chance finds a string depends on the hash family of a metric."""
    return {"qwerty": 0.9, **zipf(numbered("keyboard", 20), 1.0, 0.1)}


def carrier(_: Situation) -> Law:
    """One item that four of five have."""
    return {"north": 0.8, **zipf(numbered("carrier", 20), 1.0, 0.2)}


def time_zone(_: Situation) -> Law:
    """One item that three of five have."""
    return {"UTC": 0.6, **zipf(numbered("zone", 20), 1.0, 0.4)}


def emoji(at: Situation) -> Law:
    """Zipf; a new one appears late."""
    late = 0.07 if at.day >= appears(at.deployment) else 0.0
    return {**zipf(numbered("emoji", 60), 1.0, 1 - late), LATE_EMOJI: late}


def font(_: Situation) -> Law:
    """One item that nearly half have."""
    return {"Inter": 0.45, **zipf(numbered("font", 25), 0.5, 0.55)}


def plugin(_: Situation) -> Law:
    """Steep, and none of them is in the analyst's list."""
    return zipf(numbered("unlisted plugin", 40), 1.5)


def template(_: Situation) -> Law:
    """All equally common."""
    return zipf(numbered("template", 60), 0.0)


def printer(_: Situation) -> Law:
    """One item that two of three have."""
    return {"office": 0.65, **zipf(numbered("printer", 40), 1.0, 0.35)}


def site(_: Situation) -> Law:
    """Half have one that is not in the analyst's list."""
    return {"intranet": 0.5, **zipf(numbered("site", 20), 1.0, 0.5)}


def search_term(at: Situation) -> Law:
    """Nobody has a list; a third have one of many rare ones, and one term appears late."""
    late = 0.06 if at.day >= appears(at.deployment) else 0.0
    return {
        **zipf(SEARCHED, 0.7, 0.66 - late),
        LATE_TERM: late,
        **zipf(numbered("rare term", 400), 0.5, 0.34),
    }


def settings(_: Situation) -> Law:
    """Attributes that depend on each other."""
    law: Law = {}
    for toolbar, size in {"full": 0.5, "small": 0.3, "hidden": 0.2}.items():
        spelling = 0.85 if toolbar == "full" else 0.55
        for unit, part in {"cm": 0.6, "inch": 0.3, "point": 0.1}.items():
            for checks, likely in {True: spelling, False: 1 - spelling}.items():
                record = (("toolbar", toolbar), ("spelling", checks), ("unit", unit))
                law[record] = size * part * likely
    return law


def features(at: Situation) -> Law:
    """Who searches also comments; exports are more common since the change."""
    export = 0.16 if at.changed else 0.10
    law: Law = {}
    for search, searching in {True: 0.6, False: 0.4}.items():
        commenting = 0.3 if search else 0.05
        for comments, commented in {True: commenting, False: 1 - commenting}.items():
            for exports, exported in {True: export, False: 1 - export}.items():
                record = (("search", search), ("comments", comments), ("export", exports))
                law[record] = searching * commented * exported
    return law


def scheme(at: Situation) -> Law:
    """The same always; one value has another name since version 2."""
    return {"light": 0.45, "dark": 0.30, "system" if at.version == 1 else "auto": 0.25}


def focus(at: Situation) -> Law:
    """Less at weekends, and the same every week."""
    return {True: 0.40 - 0.10 * at.weekend, False: 0.60 + 0.10 * at.weekend}


def layout(at: Situation) -> Law:
    """Testers have another one, always."""
    wide = 0.75 if at.key == "beta" else 0.30
    return {True: wide, False: 1 - wide}


def widget(_: Situation) -> Law:
    """The same always."""
    return {True: 0.20, False: 0.80}


def zoom(at: Situation) -> Law:
    """With one key a point more every week."""
    larger = 0.30 + 0.01 * at.day / DAYS_PER_WEEK * (at.key == "direct")
    return {True: larger, False: 1 - larger}


def badge(_: Situation) -> Law:
    """The same always."""
    return {True: 0.10, False: 0.90}


def banner(_: Situation) -> Law:
    """An experiment without an effect."""
    return _arms(0.30, 0.30)


def checkout(_: Situation) -> Law:
    """An experiment with an effect of two points."""
    return _arms(0.30, 0.32)


def _arms(first: float, second: float) -> Law:
    law: Law = {}
    for arm, part in (("a", first), ("b", second)):
        law |= {(True, arm): part / 2, (False, arm): (1 - part) / 2}
    return law


def few_flags(at: Situation) -> Law:
    """As `features`, of few devices."""
    return features(at)


def few_values(_: Situation) -> Law:
    """Few devices, and one value in three of them."""
    return {"a": 0.35, "b": 0.25, "c": 0.2, "d": 0.1, "e": 0.05, "f": 0.05, "g": 0.0, "h": 0.0}


def startup_seconds(at: Situation, generator: Generator, size: int) -> NDArray[np.float64]:
    """Lognormal; slower since the change."""
    middle = 1.6 * (1.2 if at.changed else 1.0)
    return np.minimum(generator.lognormal(np.log(middle), 0.5, size), 10.0)


def battery(_: Situation, generator: Generator, size: int) -> NDArray[np.float64]:
    """Rarely empty."""
    return 100 * generator.beta(3, 1.5, size)


def latency(_: Situation, generator: Generator, size: int) -> NDArray[np.float64]:
    """Lognormal."""
    return np.minimum(generator.lognormal(np.log(70), 0.55, size), 999.0)


def pages(_: Situation, generator: Generator, size: int) -> NDArray[np.float64]:
    """Gamma."""
    return np.minimum(generator.gamma(2, 7, size), 63.0)


def typing(at: Situation, generator: Generator, size: int) -> NDArray[np.float64]:
    """In the middle; since the change at both ends, with the same mean."""
    if not at.changed:
        return generator.uniform(15, 45, size)
    few = generator.uniform(0, 15, size)
    return np.where(generator.random(size) < 0.5, few, 60 - few)


def memory(_: Situation, generator: Generator, size: int) -> NDArray[np.float64]:
    """Lognormal: a tenth is beyond the range of version 1."""
    return np.minimum(generator.lognormal(np.log(26), 0.5, size), 99.0)


def documents(_: Situation, generator: Generator, size: int) -> NDArray[np.float64]:
    """Gamma."""
    return np.minimum(generator.gamma(2, 3, size), 49.0)


def few_numbers(at: Situation, generator: Generator, size: int) -> NDArray[np.float64]:
    """As `startup_seconds`, of few devices."""
    return startup_seconds(at, generator, size)


LAWS: Final = {
    law.__name__: law
    for law in (
        dark_mode, sync, browser, theme, crash, language, mode, country, keyboard, carrier,
        time_zone, emoji, font, plugin, template, printer, site, search_term, settings, features,
        scheme, focus, layout, widget, zoom, badge, banner, checkout, few_flags, few_values,
    )
}  # fmt: skip
"""The values of each metric that is no number."""

SAMPLERS: Final[dict[str, Samples]] = {
    sampler.__name__: sampler
    for sampler in (
        startup_seconds, battery, latency, pages, typing, memory, documents, few_numbers,
    )
}  # fmt: skip
"""The numbers of each other metric."""
