"""The client: the object with which an application records values and follows their reports."""

from __future__ import annotations

import os
import time

from deniable import _import_lock
from deniable._lifecycle import join_engine, leave_engine
from deniable._platform.continuous_integration import ALLOWED
from deniable._status import DELTA_UNITS, NANO, FlushResult, Outcome, RememberedConsent, Status
from deniable._storage.device import STORAGE_ERRORS, DeviceStorage
from deniable_shared.errors import ParameterError, RecordError, UploadError
from deniable_shared.periods import epoch_at

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet
    from importlib.resources.abc import Traversable
    from typing import ClassVar, Final, Self, SupportsFloat

    from deniable._disclosure.disclosure import Disclosure
    from deniable._timer import Timer
    from deniable._transport.http import Transport
    from deniable_shared.registry import Registry

UPLOAD_DELAY_SECONDS: Final = 86_400.0
FLUSH_TIMEOUT_SECONDS: Final = 5.0
MAX_FLUSH_SECONDS: Final = 86_400.0


class Client:
    """Randomizes values on this device and uploads the reports in the background.

    Only construction raises, and in strict mode `record` and `flush`. Construction writes to the
    disk or uses the network only if there is consent, and either earlier reports are waiting or a
    metric counts absence. Safe for threads, for forks, and for several processes that share a
    directory.

    Args:
        registry: path of a metrics.toml; or a file of a package, from `importlib.resources`; or
            TOML as bytes; or a registry that was loaded before.
        endpoint: the aggregator's base URL; ``https://``, or ``http://`` to this machine. If it is
            left out, the environment variable DENIABLE_ENDPOINT has it. Where the registry has a
            relay it stays out, but for this machine in development.
        key: the application's write key; if it is left out, that of DENIABLE_KEY.
        directory: private to this application on this device; a directory that another application
            has used is refused. It is created with mode 0700 when there is consent and something is
            recorded.
        consent: whether the user has agreed. Without it nothing is randomized, stored or sent.
        remember_consent: whether to keep the user's answer in the directory, so that it holds at
            the next start, too. Then leave out `consent`, and set it when the user answers.
        transport: carries the uploads instead of HTTP; then endpoint and key are left out. Where
            the registry has a relay, it must say ``sealed = True``.
        upload_delay_seconds: every report waits a random time, uniform between 0 and this, so that
            the time of an upload does not reveal when the value was recorded; 0 or more. A shorter
            period of the metric is the limit instead, and for memoised metrics an hour. Where the
            registry has a relay, reports leave 12 to 36 hours after their period instead.
        background: whether a thread uploads by itself; otherwise only `flush` uploads.
        strict: whether `record` and `flush` raise if the programmer made a mistake; for
            development.
        development: whether this is the client of a throw-away device, which says on the standard
            error what it does. Its directory is a temporary one, and reports leave at once, but to
            this machine alone. If it is None, the environment variable DENIABLE_DEVELOPMENT
            decides; with True the client is strict as well.
        clock: seconds since 1970-01-01; for tests.

    Raises:
        ParameterError: if an argument cannot be used.
        RegistryError: if the registry cannot be read or has problems.
    """

    _storage_type: ClassVar[type[DeviceStorage]] = DeviceStorage
    """Where reports and budget are kept; `deniable.testing` keeps them in memory."""

    _environment: ClassVar[Mapping[str, str]] = os.environ
    """Where DO_NOT_TRACK and CI are looked for; `deniable.testing` replaces it by nothing."""

    def __init__(
        self,
        registry: Registry | str | os.PathLike[str] | Traversable | bytes,
        *,
        endpoint: str | None = None,
        key: str | None = None,
        directory: str | os.PathLike[str],
        consent: bool = False,
        remember_consent: bool = False,
        transport: Transport | None = None,
        upload_delay_seconds: float = UPLOAD_DELAY_SECONDS,
        background: bool = True,
        strict: bool = False,
        development: bool | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        # Imported here: with what they need, they would take twice as long to import as the rest.
        with _import_lock.hold():
            from deniable._arguments import (
                check_options,
                choose_transport,
                find_directory,
                reason_for_development,
            )
            from deniable._registry_source import read_registry
            from deniable._settings import Settings

        check_options(
            upload_delay_seconds=upload_delay_seconds,
            clock=clock,
            switches={
                "consent": consent,
                "remember_consent": remember_consent,
                "background": background,
                "strict": strict,
            },
            development=development,
        )
        if consent and remember_consent:
            raise ParameterError(
                "consent", "left out with remember_consent; set client.consent when asked", True
            )
        self._registry = read_registry(registry)
        reason = reason_for_development(development)
        relay = self._registry.relay
        transport = choose_transport(
            endpoint, key, transport, relay=relay, in_development=bool(reason)
        )
        self._strict = strict or development is True
        path = find_directory(directory, self._registry.application)
        if reason:
            from deniable import _development

            path, transport = _development.begin(path, transport, self._registry, reason)
            upload_delay_seconds = 0.0
        settings = Settings(
            self._registry,
            transport,
            float(upload_delay_seconds),
            background,
            clock,
            remember_consent,
            development=bool(reason),
        )
        self._closed = False
        self._agreed: int | None = None
        self._engine = engine = join_engine(
            self, path, settings, self._storage_type, self._environment
        )
        self._storage, self._events, self._consent = engine.storage, engine.events, engine.consent
        self._recorder, self._uploader = engine.recorder, engine.uploader
        if remember_consent:
            self._now_or_in_background(self._recall)
        elif consent:
            self.consent = True

    def record(
        self,
        metric: str,
        value: bool
        | float
        | str
        | SupportsFloat
        | Mapping[str, bool | str]
        | AbstractSet[str]
        | list[str]
        | tuple[str, ...],
        *,
        segment: str | None = None,
    ) -> Outcome:
        """Records a value: checks, randomizes and stores it, all before returning.

        Never waits for the network, and never raises unless the client is strict. When it returns
        ``RECORDED``, the report survives the death of the process. The value itself is not kept.
        Waits 50 ms at most for others that use the directory, and never for the disk to sync; then
        it returns ``WAITING``, and keeps the randomized report in memory until it can be written.

        Args:
            metric: its name in the registry.
            value: a bool for ``boolean`` metrics, a str for ``category`` and ``string``, an int or
                float for ``number`` and ``distribution`` (a number outside the range counts as the
                nearer end), for ``attributes`` a mapping from each name to its bool or str, and for
                ``set`` all that there is at one moment: a set, frozenset, list or tuple of strs.
                Also NumPy's flags and numbers, decimals and fractions.
            segment: for a metric with segments, the one that this device belongs to now; if it is
                left out or unknown, the report counts for the metric's ``other`` segment, if any.

        Returns:
            What became of it. Every outcome is counted in `status`.

        Raises:
            RecordError: in strict mode, instead of returning ``OUTSIDE_DOMAIN``,
                ``UNKNOWN_METRIC``, ``EXPIRED``, ``CLOSED``, ``STORAGE_UNAVAILABLE`` or
                ``INTERNAL_ERROR``.
        """
        problem = ""
        try:
            self._storage.detect_fork()
            if self._closed or self._engine.closed:
                raise RecordError(Outcome.CLOSED, "the client was closed")
            agreed = self._agreed == self._consent.endings
            outcome, wake = self._recorder.record(metric, value, segment, agreed=agreed)
            if wake is not None or self._uploader.put_off:
                self._uploader.wake(wake or 0.0)
        except RecordError as error:
            outcome, problem = Outcome(error.outcome), error.problem
        except STORAGE_ERRORS:
            outcome = Outcome.STORAGE_UNAVAILABLE  # the storage has noted why
            problem = self._events.last_error or "see status()"
        except Exception as error:  # noqa: BLE001  a defect here must not reach the host
            self._events.problem("internal_error", type(error).__name__)
            outcome = Outcome.INTERNAL_ERROR
            problem = _describe_defect(error)
        self._events.count_outcome(outcome, metric)
        if problem and self._strict:
            # Tools that show the variables of every frame must not find the value in this one. The
            # caught error is not chained, because its frames and its message may hold the value.
            del metric, value, segment
            raise RecordError(outcome, problem)
        return outcome

    def timer(self, metric: str, *, segment: str | None = None) -> Timer:
        """Times a block or a function, and records how many seconds it took.

        ::

            with client.timer("startup_seconds"):
                load()

        What ends by an exception is not recorded. As a decorator, also of coroutine functions, it
        times each call; the ``with`` statement needs a new timer each time.

        Args:
            metric: a ``number`` or ``distribution``; for others `record` returns what it returns
                for any number.
            segment: see `record`.
        """
        from deniable._timer import Timer  # not every application needs it

        return Timer(self.record, metric, segment)

    def flush(self, *, timeout_seconds: float = FLUSH_TIMEOUT_SECONDS) -> FlushResult:
        """Sends the stored reports now, without waiting for their random times.

        Each report is tried once; if the aggregator cannot be reached, the flush ends early.
        Reports of metrics that count absence, or pick one of all values, stay until their period
        is over, and all that go through a relay until 12 hours after theirs. Avoid flushing
        after every `record`: it reveals to the aggregator when things happened.

        Args:
            timeout_seconds: how long to take at most; a day is the limit.

        Returns:
            What was sent and dropped meanwhile, how much is still pending, and what went wrong.

        Raises:
            UploadError: in strict mode, if reports were not accepted because of a mistake of the
                developer or the operator: a wrong key or endpoint, a metric that is not registered,
                a report that the aggregator refused for good.
        """
        result: FlushResult | None = None
        mistake: UploadError | None = None
        try:
            self._storage.detect_fork()
            problem = self._why_silent()
            if problem is None:
                limit = min(timeout_seconds, MAX_FLUSH_SECONDS)
                result, mistake = self._uploader.flush(limit)
        except Exception as error:  # noqa: BLE001  not even a wrong timeout may reach the host
            self._events.problem("internal_error", type(error).__name__)
            problem = self._events.last_error
        if mistake is not None and self._strict:
            raise mistake
        if result is None:
            pending = self._uploader.count_pending(0.0)
            result = FlushResult(sent=0, pending=pending, dropped=0, problem=problem)
        return result

    def forget(self) -> int:
        """Deletes pending reports and the memory of delivered ones; needs no consent.

        The budget stays spent, and an upload that is under way cannot be called back. If the
        storage cannot be used now, deletion is tried again until it is done.

        Returns:
            How many pending reports were deleted; 0 if the storage cannot be used now.
        """
        return self._now_or_in_background(self._consent.forget) or 0

    def close(self) -> None:
        """Ends the background thread and writes what waits in memory, within a second in any case.

        Does not wait for the disk to sync, unless several reports are to be erased that others have
        replaced, see ``pick``. Reports that were not sent stay stored, and the next client with
        this directory sends them. Of clients that share a directory, the last that is
        closed does so.
        """
        self._closed = True
        leave_engine(self._engine, self)

    @property
    def consent(self) -> bool:
        """Whether the user agrees to telemetry.

        Setting it to True has no effect if the environment variable DO_NOT_TRACK is set, on
        machines of continuous integration, or if the client is closed. Setting it to False deletes
        every report and replaces the secret; the budget stays spent. If the storage cannot be used
        now, deletion is tried again until it is done, and nothing is recorded or sent before. Any
        other value, such as the text ``"false"``, counts as False. With `remember_consent` the
        answer is remembered, a refusal before anything is deleted; and if another process of the
        directory remembers a refusal, consent ends here.
        """
        self._storage.detect_fork()
        return self._consent.still_given() and self._agreed == self._consent.endings

    @consent.setter
    def consent(self, agreed: bool) -> None:
        self._now_or_in_background(self._grant if agreed is True else self._withdraw)

    @property
    def remembered_consent(self) -> RememberedConsent | None:
        """What the user answered, and when, as the directory remembers it.

        None if nobody has asked yet, the answer cannot be read, or the client does not remember
        consent. An application asks when it is None.
        """
        return self._consent.remembered()

    def status(self) -> Status:
        """Counts, the latest problem and the rest of the budget."""
        self._storage.detect_fork()
        limits = left = self._recorder.limits
        pending: int | None = 0
        delta = 0
        try:
            if self._storage.exists:
                epoch, storage = epoch_at(self._engine.settings.clock()), self._storage
                spent, delta, pending = storage.run_locked(
                    lambda: (
                        storage.ledger.spending(epoch),
                        storage.ledger.delta_spent(),
                        storage.spool.count(),
                    )
                )
                left = (limits[0] - spent[0], limits[1] - spent[1])
        except STORAGE_ERRORS:
            pending, left = None, (0, 0)
        except Exception as error:  # noqa: BLE001  a defect here must not reach the host
            self._events.problem("internal_error", type(error).__name__)
            pending, left = None, (0, 0)
        return Status(
            consent=self.consent,
            pending=pending,
            sent=self._events.sent,
            outcomes=self._events.outcomes(),
            dropped=self._events.dropped(),
            last_error=self._events.last_error,
            epsilon_left_today=max(0, min(left)) / NANO,
            epsilon_left_lifetime=max(0, left[1]) / NANO,
            delta_lifetime=delta / DELTA_UNITS,
            do_not_track=self._consent.do_not_track,
            remote_serial=self._engine.remote.serial,
            remote_refused=self._engine.remote.refused_count,
            development=self._engine.settings.development,
            repeated={
                name: count
                for name, count in self._events.repeated().items()
                if (spec := self._registry.metrics[name].spec).may_pick and not spec.picks
            },
        )

    def disclosure(self) -> Disclosure:
        """What this device has reported, in words for its user.

        For a page of the application's settings: `Disclosure.sentence` can be shown as it is, and
        `Disclosure.reports` explains every report. Reads the directory, so call it only when
        somebody looks.
        """
        from deniable._disclosure.disclosure import disclosure  # seldom used

        return disclosure(self._storage.directory, clock=self._engine.settings.clock)

    def _grant(self) -> None:
        if not self._is_closed:
            self._agreed = self._consent.grant()
            self._begin()

    def _withdraw(self) -> None:
        self._consent.withdraw()
        self._uploader.stop()
        self._consent.delete_owed_now()

    def _recall(self) -> None:
        self._agreed = self._consent.recall()
        self._begin()

    def _begin(self) -> None:
        """Deletes what is owed; with consent, begins to upload what earlier processes stored."""
        if self._recorder.prepare():
            self._uploader.prepare()  # now, so that the first `record` need not wait
            if self._recorder.counts_absence or self._storage.exists:
                self._uploader.wake(0.0)

    @property
    def _is_closed(self) -> bool:
        return self._closed or self._engine.closed

    def _why_silent(self) -> str | None:
        """Why this client sends nothing; None if it may."""
        if self._is_closed:
            return "closed: the client was closed"
        if self._consent.do_not_track:
            return "do_not_track: the environment variable DO_NOT_TRACK is set, so nothing is sent"
        if self._consent.refusal is not None:
            return (
                "in_ci: this is a machine of continuous integration and no user's device, so "
                f"nothing is sent; {ALLOWED}=1 has it count as one"
            )
        if not self.consent:
            return "no_consent: nothing is sent before the user agrees and client.consent is True"
        if self._recorder.clock_is_doubted():
            return self._events.last_error
        return None

    def _now_or_in_background(self, action: Callable[[], int | None]) -> int | None:
        """Does what the user wants of their consent, and raises nothing into the host.

        If the storage cannot be used now, the upload thread deletes what is owed; the storage noted
        why.

        Returns:
            What the action returns; None if it could not be done now.
        """
        try:
            self._storage.detect_fork()
            return action()
        except STORAGE_ERRORS:
            if not self._is_closed:
                self._uploader.wake(0.0)
        except Exception as error:  # noqa: BLE001  a defect here must not reach the host
            self._events.problem("internal_error", type(error).__name__)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        transport = type(self._engine.settings.transport).__name__
        return (
            f"Client({self._registry.application!r}, transport={transport}, "
            f"directory={str(self._storage.directory)!r}, consent={self.consent}"
            f"{', development=True' * self._engine.settings.development})"
        )


def _describe_defect(error: Exception) -> str:
    """The type of an error and where it was raised; not its message, which may hold the value."""
    place, traceback = "", error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        place = f" in {code.co_qualname}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return type(error).__name__ + place
