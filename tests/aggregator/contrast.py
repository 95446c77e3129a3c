"""How well a colour stands out from what is behind it (WCAG 2.2)."""


def contrast(one: str, other: str) -> float:
    """Between two colours, such as "#ffffff" and "#14181d": 1 if they are alike, at most 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    digits = color.removeprefix("#")
    digits = "".join(2 * each for each in digits) if len(digits) == 3 else digits
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
