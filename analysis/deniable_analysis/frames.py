"""Structs as a data frame: pandas, polars or a table of Arrow, by narwhals."""

from __future__ import annotations

from datetime import date
from importlib.util import find_spec
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_type_hints

from deniable_aggregator.answers.extras import MissingExtraError
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from msgspec import Struct

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: Final[tuple[Backend, ...]] = get_args(Backend)


def frame(
    kind: type[Struct],
    structs: Sequence[Struct],
    backend: Backend | None,
    names: Iterable[str] = (),
    *,
    whole: bool = False,
) -> Any:
    """A frame with a row for each struct and a column for each of its fields.

    Dates are dates (in pandas, datetime64), flags may be missing, and so may whole numbers.

    Args:
        kind: of the structs; its fields are text, numbers, flags and dates, or None.
        structs: the rows.
        backend: the library; None for the first of pandas, polars and pyarrow that is installed.
        names: of the fields that become columns, in their order; none for all.
        whole: columns in which nothing stands, too.

    Raises:
        ParameterError: if there is no such library.
        MissingExtraError: if it is not installed.
    """
    name = _installed(backend)
    import narwhals as nw

    types = {str: nw.String(), float: nw.Float64(), int: nw.Int64(), bool: nw.Boolean()}
    days = nw.Datetime("us") if name == "pandas" else nw.Date()
    hints = get_type_hints(kind)
    columns, schema = {}, {}
    for column in names or hints:
        kinds = _kinds(hints[column])
        cells = [getattr(each, column) for each in structs]
        if whole or any(cell is not None for cell in cells):
            columns[column] = cells
            schema[column] = days if date in kinds else types[kinds[0]]
    if name != "pandas":
        return nw.from_dict(columns, schema=schema, backend=name).to_native()
    import pandas as pd

    # pandas' own types have no missing flags and whole numbers: these are the ones that do.
    nullable = (nw.Boolean, nw.Int64)
    kept: list[Any] = ["numpy_nullable" if each in nullable else None for each in schema.values()]
    return pd.DataFrame(columns).astype(nw.Schema(schema).to_pandas(kept))


def _kinds(hint: Any) -> list[type]:
    """The types of a field but None; those of literals are text."""
    kinds = [each for each in get_args(hint) or (hint,) if each is not NoneType]
    return [each if isinstance(each, type) else str for each in kinds]


def _installed(backend: Backend | None) -> Backend:
    if backend is not None and backend not in BACKENDS:
        raise ParameterError("backend", f"one of {', '.join(BACKENDS)}", backend)
    wanted: tuple[Backend, ...] = BACKENDS if backend is None else (backend,)
    for name in wanted:
        if find_spec(name) is not None:
            if find_spec("narwhals") is None:
                raise MissingExtraError("this needs narwhals: pip install 'deniable[analysis]'")
            return name
    missing = backend or "pandas or polars"
    raise MissingExtraError(f"a frame needs {missing}: pip install {backend or 'pandas'}")
