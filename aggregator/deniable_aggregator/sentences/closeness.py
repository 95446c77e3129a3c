"""How far a segment is from all devices, in a sentence."""

from __future__ import annotations

import math
from typing import Final

from deniable_aggregator.answers.estimates import SegmentShares
from deniable_aggregator.sentences.wording import shown_value

LEARNT: Final = "What is true of nearly a whole segment is learnt of each of its devices."
_KINDS: Final = {"earth-mover": "earth mover's distance", "total-variation": "total variation"}


def closeness_in_words(answer: object) -> str:
    """How far the segment of an answer is from all devices.

    Args:
        answer: of any kind; the text is empty unless it is about a segment.
    """
    if not isinstance(answer, SegmentShares) or not answer.closeness:
        return ""
    found = answer.closeness
    which, kind = shown_value(f"{found.name}={found.segment}"), _KINDS[found.kind]
    about, size = f"{kind}, 0 if alike and 1 at most", f"the estimate of {found.distance:.2f}"
    least = math.floor(100 * found.low) / 100
    if least > 0:
        text = (
            f"{which} is at least {least:.2f} from all devices ({about}; noise tends to make "
            f"{size} too large)."
        )
    else:
        text = (
            f"{which} can't be told from all devices: its values may have the same shares "
            f"({about}; {size} may be noise alone)."
        )
    warned = found.far or found.nearly_one_value
    return text if warned else f"{text} {LEARNT}"
