"""What a report costs behind a relay, in a plan; computed by the aggregator's code, with NumPy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deniable_shared.errors import DeniableError
from deniable_shared.planning.upper_bounds import power, upper

if TYPE_CHECKING:
    from deniable_shared.spec import Spec


def relayed_as_json(spec: Spec, among: int) -> dict[str, Any]:
    """What is printed for programs; the epsilon is null where nothing hides such reports.

    Args:
        among: how many honest reports look alike in a batch, this one included; at least 1.

    Raises:
        DeniableError: if the extra ``aggregator`` is not installed.
    """
    return {"shuffled_among": among, "epsilon": _central(spec, among), "delta": _accounting().DELTA}


def relayed_text(spec: Spec, among: int) -> str:
    """The same in a sentence.

    Raises:
        DeniableError: if the extra ``aggregator`` is not installed.
    """
    epsilon, local = _central(spec, among), upper(spec.mechanism.epsilon)
    if epsilon is None:
        why = "permanent answers" if not spec.mechanism.delta else "reports with a delta"
        return f"Behind a relay: epsilon {local}, as on the device: {why} hide among no others."
    return (
        f"Behind a relay: epsilon {local} on the device; {upper(epsilon)} (delta "
        f"{power(_accounting().DELTA)}) to everybody but relay and aggregator together, if "
        f"{among:,} honest devices of the same version, day and keys report in a batch. A server "
        "counts half of the reports as honest."
    )


def _central(spec: Spec, among: int) -> float | None:
    mechanism = spec.mechanism
    if mechanism.epsilon_permanent is not None or mechanism.delta:
        return None
    epsilon: float = _accounting().central_epsilon(mechanism.epsilon, among)
    return epsilon


def _accounting() -> Any:
    try:
        return import_module("deniable_aggregator.counting.relayed")
    except ModuleNotFoundError:
        raise DeniableError(
            "--shuffled-among needs the extra aggregator: pip install 'deniable[aggregator]'"
        ) from None
