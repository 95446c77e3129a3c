"""Kernels whose worker is killed while it counts."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from deniable_aggregator.answering.engines import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa

    from deniable_shared.spec import Spec


class KillingKernel(Kernel):
    """Kills the process that counts one of the files with it, the first time.

    Args:
        specs: those of a kernel.
        file: the file that is not counted at first.
        killed: exists once a process was killed.
    """

    def __init__(self, specs: Iterable[Spec], file: str, killed: Path) -> None:
        super().__init__(specs)
        self._file = file
        self._killed = killed

    def count_file(self, file: str) -> pa.Table:
        """As a kernel does, the second time."""
        if file == self._file and not self._killed.exists():
            self._killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().count_file(file)
