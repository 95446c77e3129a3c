"""The packages that the shipped lists are made of."""

from __future__ import annotations

from typing import Final

from tools.sources import Source

EMOJI: Final = Source(
    "npm", "unicode-emoji-json", "0.9.0", "unicode-emoji-json-0.9.0.tgz",
    "ae7efacb55533385bf8767d613dbd36c71226669759d95919a6e9059f5e4c401",
    "MIT", "Mu-An Chiou", "emoji and emoji-skin-tones, from the data of Unicode",
)  # fmt: skip

LOCALES: Final = Source(
    "npm", "cldr-core", "48.2.0", "cldr-core-48.2.0.tgz",
    "5310e0c7a06c1feb83dc8e54c8584bbe0b9c2ea8320172a18d541986b124585d",
    "Unicode-3.0", "Unicode, Inc.", "locales",
)  # fmt: skip

COUNTRIES: Final = Source(
    "npm", "cldr-localenames-full", "48.2.0", "cldr-localenames-full-48.2.0.tgz",
    "7f2ac7fd3b5d90f56ad127f9ed5ae67b58b3e556818f55530b9f47bb81bcde57",
    "Unicode-3.0", "Unicode, Inc.", "countries",
)  # fmt: skip

SOURCES: Final = (EMOJI, LOCALES, COUNTRIES)
