"""A simulated deployment: the ordinary answers stand beside the truth."""

import csv
import io
from contextlib import ExitStack, closing, contextmanager
from datetime import date

import pytest

from deniable_aggregator import Store
from deniable_aggregator.answering.answers import read_rows
from deniable_aggregator.answering.estimate_table.writing import TableWriter
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.answers.questions import ChangeQuery, ValueLists
from deniable_aggregator.answers.row import EstimateTableQuery
from deniable_aggregator.asking.questions import (
    CHANGE,
    ESTIMATE,
    HEALTH,
    HEALTH_OVERVIEW,
    METRICS,
    SERIES,
)
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.media.publication import csv_text
from deniable_aggregator.media.rows import rows_of
from deniable_aggregator.simulating.destinations import new_store
from deniable_aggregator.simulating.scenario import Scenario, prepared
from deniable_aggregator.simulating.simulation import simulated
from deniable_aggregator.telling.administration import metrics_document
from deniable_aggregator.telling.publication.publish import publish
from deniable_aggregator.telling.publication.selection import Policy
from deniable_analysis.overviews import MetricList
from deniable_shared.errors import ParameterError
from tests.aggregator.simulating.registries import (
    EVERYTHING,
    HEAD,
    MODE,
    PRINTER,
    SEPIA,
    SETTINGS,
    STARTUP,
    THEME,
)

SUNDAY = date(2026, 2, 1)


@contextmanager
def simulating(folder):
    """What a scenario shows, and a source that answers questions about it."""
    number = iter(range(100))
    with ExitStack() as opened:

        def run(*texts, devices=4_000, days=14, **more):
            files = []
            for place, text in enumerate(texts):
                files.append(folder / f"{place}.toml")
                files[-1].write_text(text)
            scenario = Scenario(tuple(files), devices, days, SUNDAY, **more)
            plan = prepared(scenario)
            context = new_store(folder / f"{next(number)}.db", plan.deployment)
            store = opened.enter_context(context)
            return simulated(scenario, plan, store), store.source()

        yield run


@pytest.fixture
def simulate(tmp_path):
    with simulating(tmp_path) as run:
        yield run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("everything")


@pytest.fixture(scope="module")
def everything(folder):
    """A deployment with every type of metric, which tests only ask."""
    with simulating(folder) as run:
        yield run(EVERYTHING, outage=date(2026, 1, 23))


def test_every_type_of_metric_is_estimated_and_intervals_cover_the_truth(everything):
    found, _ = everything
    assert [shown.name for shown in found.shown] == list(found.deployment.metrics)
    for shown in found.shown:
        assert not shown.problem
        rows = [row for row in shown.rows if row.truth > 0]
        covering = sum(row.covers for row in rows)
        # The shares of two values may miss together, as one is what the other is not.
        assert covering >= min(0.8 * len(rows), len(rows) - 2), shown.name


def test_what_is_estimated_is_what_arrived(everything):
    found, _ = everything
    recorded = found.truth.recorded
    for shown in found.shown:
        assert shown.answer.head.reports == recorded.reports(shown.name)
        assert shown.others == 0
        # A day in 14 is lost, of 12 working days' volume.
        assert 4_000 * 0.88 < shown.answer.head.reports < 4_000 * 0.95


def test_the_same_seed_gives_the_same_numbers_and_another_one_others(simulate):
    numbers = [
        simulate(HEAD + THEME, devices=500, seed=seed)[0].data()["metrics"] for seed in (7, 7, 8)
    ]
    assert numbers[0] == numbers[1] != numbers[2]


def test_a_large_change_is_seen_and_a_small_one_is_not(simulate):
    for points, seen in ((25, True), (0.1, False)):
        noisy = THEME.replace("epsilon = 3.0", "epsilon = 1.0")
        (shown,) = simulate(HEAD + noisy, change_points=points)[0].shown
        assert any(row.number.told for row in shown.changes) == seen
        assert any("was seen" in line for line in shown.lines()) == seen
        truly = max(abs(row.truth) for row in shown.changes)
        assert abs(truly - points / 100) < 0.05


def test_more_devices_show_smaller_changes(simulate):
    least = [
        simulate(HEAD + THEME, devices=devices)[0].shown[0].data()["least_change_seen"]
        for devices in (1_000, 9_000)
    ]
    assert least[1] == pytest.approx(least[0] / 3, rel=0.15)


def test_what_no_version_but_the_newest_lists_is_compared_where_it_is_known(simulate):
    found, _ = simulate(HEAD + THEME, HEAD + SEPIA, devices=6_000)
    (shown,) = found.shown
    sepia = next(row for row in shown.rows if row.number.value == "sepia")
    assert sepia.number.reports < shown.answer.head.reports
    assert sepia.covers
    assert "New versions on 2026-01-26." in found.introduction(Scenario((), 1, 1, SUNDAY))


def test_a_naive_forger_is_noticed_and_left_out(simulate):
    found, _ = simulate(HEAD + THEME, forged="theme=system", forger="naive", forged_part=0.5)
    (shown,) = found.shown
    assert shown.noticed
    assert any("without the key" in line for line in shown.lines())
    assert all(row.covers for row in shown.rows)


def test_a_patient_forger_moves_what_nobody_notices_within_a_key(simulate):
    found, _ = simulate(
        HEAD + THEME,
        forged="theme=system",
        forger="patient",
        forged_part=0.5,
        keys={"release": 1.0},
        change_points=0,
    )
    (shown,) = found.shown
    assert not shown.noticed
    system = next(row for row in shown.rows if row.number.value == "system")
    assert system.number.low > system.truth + 0.1


def test_numbers_beyond_the_range_are_clipped_and_that_is_said(simulate, tmp_path):
    file = tmp_path / "shares.csv"
    file.write_text("startup,5,1\nstartup,30,1\n")
    found, _ = simulate(EVERYTHING, priors=file, change_points=0)
    shown = next(one for one in found.shown if one.name == "startup")
    assert shown.clipped == pytest.approx(0.5, abs=0.05)
    assert any("outside of the range" in line for line in shown.lines())
    (mean,) = shown.rows
    assert mean.truth == pytest.approx(7.5, abs=0.2)
    assert found.truth.mean_held("startup") == pytest.approx(17.5, abs=1)


def test_what_goes_together_stands_beside_the_truth(simulate, tmp_path):
    file = tmp_path / "shares.csv"
    file.write_text("a=true & b=true,3\na=true & b=false,1\na=false & b=false,4\n")
    flags = 'type = "attributes"\nmechanism = "pairs"\nepsilon = 6\n'
    text = f"{HEAD}[metrics.f]\n{flags}attributes = {{ a = 'boolean', b = 'boolean' }}\n"
    (shown,) = simulate(text, devices=4_000, days=1, priors=file, change_points=0)[0].shown
    (lift,) = (row for row in shown.rows if row.number.measure == "lift")
    assert lift.truth == pytest.approx(0.375 / (0.5 * 0.375), abs=0.1)
    assert lift.covers
    assert lift.number.told
    _, lifts = shown.tables()
    assert lifts.rows[0].cells[:2] == ("a=true & b=true", f"{lift.truth:.2f}")


def test_whatever_is_asked_of_the_store_says_that_it_is_simulated(everything):
    _, source = everything
    change = ChangeQuery(before="2026-01-19..2026-01-25", after="2026-01-26..2026-02-01")
    for question, query in (
        (ESTIMATE.of("theme"), None),
        (SERIES.of("theme"), None),
        (CHANGE.of("theme"), change),
        (HEALTH.of("theme"), None),
        (HEALTH_OVERVIEW, None),
    ):
        codes = [notice.code for notice in source.ask(question, query).notices]
        assert codes.count("simulated") == 1, question.name
    lists = ValueLists(candidates=("office",))
    answer = source.ask(ESTIMATE.of("printer"), None, lists)
    assert "do not exist" in answer.notices[0].message


def test_each_line_for_programs_says_that_it_is_simulated(everything, folder):
    _, source = everything
    change = ChangeQuery(before="2026-01-19..2026-01-25", after="2026-01-26..2026-02-01")
    for question, query in ((ESTIMATE, None), (SERIES, None), (CHANGE, change), (HEALTH, None)):
        rows = [*rows_of(source.ask(question.of("theme"), query))]
        assert rows
        assert all("simulated" in (row.marks or "").split() for row in rows), question.name
    policy = Policy(minimum=10)
    published = csv_text([publish(source, "theme", None, policy)])
    assert {line["simulated"] for line in csv.DictReader(io.StringIO(published))} == {"true"}
    with closing(Store(folder / "0.db")) as store:
        options = {"accept_days": 14, "retain_days": None, "today": epoch_of(SUNDAY) + 1}
        TableWriter(store, lengths=["week"], **options).write()
        rows = [*read_rows(Parts(store), "editor", EstimateTableQuery(period="week"))]
        assert rows
        assert all("simulated" in row.marks for row in rows)


def test_a_list_of_metrics_says_that_they_are_simulated(everything):
    _, source = everything
    listed = source.ask(METRICS)
    assert [notice.code for notice in listed.notices] == ["simulated"]
    assert "do not exist" in metrics_document(listed).cautions[0]
    assert "do not exist" in repr(MetricList(listed))


def test_a_store_that_is_there_is_never_written(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(HEAD + THEME)
    plan = prepared(Scenario((file,), 10, 2, SUNDAY))
    there = tmp_path / "there.db"
    there.write_bytes(b"precious")
    refused = pytest.raises(ParameterError, match="store must be the path of a new file")
    with refused, new_store(there, plan.deployment):
        pass
    assert there.read_bytes() == b"precious"


def test_a_simulation_that_fails_leaves_no_store(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(HEAD + THEME)
    plan = prepared(Scenario((file,), 10, 2, SUNDAY))
    with pytest.raises(KeyboardInterrupt), new_store(tmp_path / "new.db", plan.deployment):
        raise KeyboardInterrupt
    assert [each.name for each in tmp_path.iterdir()] == ["metrics.toml"]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"outage": date(2026, 3, 1)}, "outage must be one of the days 2026-01-19 to 2026-02-01"),
        ({"change_on": date(2026, 1, 19)}, "change_on must be after the first day"),
        ({"forged": "theem=dark"}, "forged must be METRIC=VALUE, with one of theme, startup"),
        ({"forged": "startup=fast"}, "forged must be a value that startup takes"),
        ({"forged": "settings=toolbar"}, "forged must be a value that settings takes"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(simulate, more, problem):
    with pytest.raises(ParameterError, match=problem):
        simulate(EVERYTHING, **more)


@pytest.mark.parametrize(
    ("metric", "forged"),
    [
        (STARTUP, "startup=9.5"),
        (MODE, "mode=source,beta"),
        (SETTINGS, "settings=toolbar=small,spelling=true"),
        (PRINTER, "printer=evil"),
    ],
    ids=["startup", "mode", "settings", "printer"],
)
def test_values_of_every_type_can_be_forged(simulate, metric, forged):
    found, _ = simulate(HEAD + metric, devices=400, forged=forged)
    assert found.truth.recorded.forged(forged.partition("=")[0]) > 0


def test_a_metric_without_reports_says_why_it_has_no_numbers(simulate):
    found, _ = simulate(EVERYTHING, devices=5, days=1, outage=SUNDAY)
    for shown in found.shown:
        assert "no reports" in shown.problem.lower()
        assert list(shown.tables()) == []
        assert list(shown.lines()) == []
    assert found.conclusion() == []
    assert found.data()["metrics"][0]["reports"] == 0
