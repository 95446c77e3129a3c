"""Registries as applications might ship them: twenty with a trap each, and twenty without.

A trap is something that a reviewer should have been told of. Each registry is metrics as lines of
TOML; `TRAPPED` says of each which codes of findings would tell.
"""

from __future__ import annotations

WEEKLY = '\nevery = "week"\nepsilon = 1.0'
MONTHLY = '\nevery = "month"\nepsilon = 1.0'
KEPT = '\nevery = "month"\nepsilon = 1.0\nrepeat = "memoize"\nepsilon_permanent = 2.0'


def text(description, more=WEEKLY):
    return f'type = "string"\ndescription = "{description}"{more}'


def found(description, minimum, more=""):
    return (
        f'type = "string"\ndescription = "{description}"\ndiscover = true\n'
        f'minimum_devices = {minimum}\nepsilon = 4.0\nevery = "month"{more}'
    )


def flag(description, more=WEEKLY):
    return f'type = "boolean"\ndescription = "{description}"{more}'


def choice(description, values, more=WEEKLY):
    listed = ", ".join(f'"{value}"' for value in values.split())
    return (
        f'type = "category"\ndescription = "{description}"\nvalues = [{listed}]\n'
        f'other = "something else"{more}'
    )


def number(description, low, high, more=WEEKLY, kind="number"):
    bins = "\nbins = 16" if kind == "distribution" else ""
    return f'type = "{kind}"\ndescription = "{description}"\nrange = [{low}, {high}]{bins}{more}'


THEME = {"theme": choice("Which colours the editor has", "light dark system")}
START = {"start_time": number("Seconds from the click to the first window", 0, 20, MONTHLY)}
PLUGINS = {"plugins": number("How many plug-ins are switched on", 0, 50, MONTHLY)}

TRAPPED = [
    # The word that gives it away is common, and stands in the name or in the description.
    ({"printer": found("The serial number of the printer in use", 1)}, {"identifier"}),
    ({"note": text("Was die Benutzerin in das Feld geschrieben hat")}, {"free-text"}),
    (
        {"plz": choice("Postleitzahl des Standorts", "10115 20095 80331"), **THEME},
        {"quasi-identifier"},
    ),
    ({"birthday": text("Day on which the cake is shown"), **THEME}, {"quasi-identifier"}),
    (
        {"support_phone": text("Phone number that the user gave for support")},
        {"identifier", "free-text"},
    ),
    ({"recherche": text("Texte libre saisi dans la barre de recherche")}, {"free-text"}),
    ({"hardware": found("uuid of the mainboard", 20)}, {"identifier"}),
    ({"opinion": text("Comentarios sobre la aplicación")}, {"free-text"}),
    ({"zip": number("ZIP code of the shipping address", 0, 99999, MONTHLY)}, {"quasi-identifier"}),
    (
        {"saved": flag("Whether a file was saved today", KEPT.replace("month", "day"))},
        {"changing-memoized"},
    ),
    (
        {
            "age": number("Age of the user in years", 0, 120, MONTHLY),
            "age_group": choice("Age group of the user", "young middle old", MONTHLY),
        },
        {"repeated-value"},
    ),
    (
        {
            "version": text("Version of the application"),
            "app_release": choice("Version of the application", "1.0 1.1 1.2"),
        },
        {"repeated-value"},
    ),
    (
        {
            "crashes": flag(
                "Whether it crashed",
                '\nsegment = { name = "channel", values = ["a", "b", "c", "d"], other = "e" }\n'
                'every = "week"\nepsilon = 3.0\nexpected_devices = 1500',
            )
        },
        {"small-segments"},
    ),
    ({"feedback": text("Wiadomość wpisana przez użytkownika")}, {"free-text"}),
    ({"kunde": text("Kundennummer aus der Anmeldung")}, {"identifier"}),
    ({"where": number("Latitude of the device", -90, 90, MONTHLY)}, {"quasi-identifier"}),
    ({"licence": text("Licence key that the product runs under")}, {"identifier"}),
    (
        {"greeting": text("How people address each other: in their own words")},
        {"free-text"},
    ),
    (
        {"once_a_life": flag("Whether the tour was finished", '\nevery = "once"\nepsilon = 0.1')},
        {"unused-budget"},
    ),
    (
        {
            "clinic": choice("Which ward the tablet belongs to", "icu er lab"),
            "nurse": text("Who is signed in"),
        },
        {"identifier", "free-text"},
    ),
]

CLEAN = [
    THEME,
    {**THEME, **START},
    PLUGINS,
    {"dark": flag("Whether the dark theme is on", KEPT)},
    {"language": text("Language of the menus", MONTHLY)},
    {"zip_size": number("Megabytes of the largest archive opened", 0, 500, MONTHLY)},
    {"phone_calls": number("How many calls were made over the headset", 0, 40, MONTHLY)},
    {"has_birthday_reminders": flag("Whether reminders of birthdays are on")},
    {"export": choice("Format of the last export", "pdf png svg csv")},
    {"memory": number("Gigabytes of memory", 0, 64, MONTHLY, "distribution")},
    {"screen": choice("Width of the screen in pixels, rounded", "1280 1920 2560 3840", KEPT)},
    {"extension": found("File extension of imported pictures", 200)},
    {"font": text("Typeface of the editor", MONTHLY)},
    {
        "browser": choice("Which browser is the default", "firefox chrome safari edge", KEPT),
        "tabs": number("How many tabs are open at noon", 0, 100, MONTHLY),
    },
    {"spell_check": flag("Whether spelling is checked"), **START},
    {"currency": choice("Currency that prices are shown in", "eur usd gbp jpy", KEPT)},
    {"sync": flag("Whether synchronisation is set up"), **PLUGINS},
    {"emoji": found("Emoji that are picked from the palette", 500)},
    {
        "shortcut": choice("Shortcut that opens the palette", "ctrl-k ctrl-p f1", KEPT),
        "zoom": number("Zoom of the page in per cent", 50, 300, MONTHLY),
    },
    {"country": choice("Country of the keyboard layout", "de fr it es pl us", KEPT)},
]
