"""The paper's tables, prose and axes, reached by one parameter set."""

import pytest

from recspeed.models.performance import beyond, figures, paper, presets, sensitivity
from recspeed.models.performance.paper import CASES, Row, Variant
from recspeed.models.performance.steps import Assumptions

CELLS = paper.table_rows()


def test_there_are_thirty_two_cells_as_printed() -> None:
    assert len(CELLS) == 32
    assert len({(r.table, r.system, r.case, r.quantity) for r in CELLS}) == 32
    printed = {(r.table, r.system, r.case, r.quantity): r.paper for r in CELLS}
    assert printed["XVI", "recspeed-16", "SS", "qps"] == 207_000
    assert printed["XVI", "dgx-2", "SU", "memory_utilisation"] == 0.018
    assert printed["XVII", "dgx-2", "LS", "all_reduce_share"] == 0.18
    assert printed["XVII", "recspeed-16", "LS", "qps"] == 16_000


@pytest.mark.parametrize("row", CELLS, ids=lambda r: f"{r.table}-{r.system}-{r.case}-{r.quantity}")
def test_every_cell_within_four_and_a_half_percent(row: Row) -> None:
    assert abs(row.relative_error) <= 0.045


def test_mean_error_and_printed_digits() -> None:
    assert sum(abs(row.relative_error) for row in CELLS) / 32 <= 0.012
    assert sum(paper.rounds_to_printed(row) for row in CELLS) >= 27


@pytest.mark.parametrize(
    ("model", "printed", "rounds"),
    [(299_600, 300_000, True), (300_600, 300_000, False), (299_400, 300_000, False)],
)
def test_rounding_is_the_papers(model: float, printed: float, rounds: bool) -> None:
    row = Row("XVI", "recspeed-16", "SU", "qps", printed, model)
    assert paper.rounds_to_printed(row) == rounds
    share = Row("XVI", "dgx-2", "SU", "memory_utilisation", 0.018, 0.01849)
    assert paper.rounds_to_printed(share)


def test_speedups_to_the_printed_digit_or_one_beside_it() -> None:
    rows = [row for row in paper.speedup_rows() if row.quantity == "speedup"]
    assert [row.paper for row in rows] == [62, 46, 12, 14, 45, 40, 12, 13]
    assert all(abs(round(row.model) - row.paper) <= 1 for row in rows)


def test_prose() -> None:
    rows = {row.quantity: row for row in paper.prose_rows()}
    assert rows["index_bytes"].model == rows["index_bytes"].paper == 320_000
    assert rows["pooled_bytes"].model == rows["pooled_bytes"].paper == 64_000
    assert rows["memory_tib"].model in (1.5, 5.5)
    assert round(rows["hbm_share"].model, 2) == 0.27
    assert rows["lookup_bytes_growth"].model == pytest.approx(12)


def test_sweeps_fit_every_printed_axis() -> None:
    checks = figures.axis_checks()
    assert [c.figure for c in checks] == ["8a", "8b", "8d", "11a", "11b", "11c", "11d", "9", "12"]
    assert all(check.fits for check in checks)


@pytest.mark.parametrize(
    ("lowest", "highest", "fits"),
    [(70, 180, True), (80, 180, False), (70, 170, False), (20, 180, False), (70, 230, False)],
)
def test_an_axis_check_refuses_other_ranges(lowest: float, highest: float, fits: bool) -> None:
    assert figures.AxisCheck("8a", 75, 175, 50, lowest, highest, whole=False).fits == fits
    assert figures.AxisCheck("9", 0, 200, 50, lowest, highest, whole=True).fits == (highest <= 200)


def test_surfaces_fall_with_latency_and_rise_with_bandwidth() -> None:
    for training in (False, True):
        for case in CASES:
            qps = figures.surface(case, training)
            assert qps.shape == (21, 21)
            assert (qps[1:] <= qps[:-1]).all()
            assert (qps[:, 1:] >= qps[:, :-1]).all()


def test_random_access_bandwidth_of_figure_6() -> None:
    series = {
        label: figures.random_access_gb_per_s(preset, channels)
        for label, preset, channels in figures.RANDOM_ACCESS
    }
    hbm, gddr, ddr = series.values()
    assert figures.EMBEDDING_BYTES == (32, 64, 96, 128, 160, 192, 224, 256)
    # HBM2E: tRRD alone at 32 B (4 ns), the data bus from 96 B on; 9 % go to refresh.
    refresh = 1 - 350 / 3900
    assert hbm[0] == pytest.approx(64 * 32 / (5 / 1.2) * refresh, rel=1e-3)
    assert hbm[7] == pytest.approx(64 * 19.2 * refresh, rel=1e-3)
    assert all(a > b > c for a, b, c in zip(hbm, gddr, ddr, strict=True))
    assert ddr[1] > ddr[2]


def test_breakdown_of_training_adds_up() -> None:
    for case in CASES:
        result = figures.swept(case, 2.0, 500.0, training=True)
        parts = figures.breakdown(result)
        assert sum(parts) == pytest.approx(1)
        assert min(parts) > 0
        forward = figures.swept(case, 2.0, 500.0, training=False).seconds
        assert parts[0] == pytest.approx(forward / result.seconds)


def test_all_gather_bandwidth_of_figure_5() -> None:
    simple = figures.all_gather_gb_per_s([1e4, 102e-6 * 150e9], measured=False)
    assert simple[0] == pytest.approx(1e4 / (102e-6 + 1e4 / 150e9) * 1e-9)
    assert simple[1] == pytest.approx(75)
    assert figures.all_gather_gb_per_s([28.8e6], measured=True)[0] < 107


def test_forced_assumptions_are_worse_when_dropped() -> None:
    found = sensitivity.sensitivities()
    assert {one.assumption.standing for one in found} == {"forced", "likely", "free"}
    default = sum(abs(row.relative_error) for row in CELLS) / 32
    exempt = {"index width", "interaction"}
    for one in found:
        if one.assumption.standing == "forced" and one.assumption.name not in exempt:
            assert one.mean_error > 2 * default, one.alternative.label
    assert all(len(one.change) == 32 for one in found)


def test_a_variant_that_changes_nothing_changes_nothing() -> None:
    assert paper.table_rows(Variant(assumptions=Assumptions())) == CELLS


def test_a_broken_model_is_noticed() -> None:
    wrong = Variant(assumptions=Assumptions(all_reduce_latencies=2))
    assert max(abs(row.relative_error) for row in paper.table_rows(wrong)) > 0.045


def test_beyond_the_paper() -> None:
    rows = {(row.table, row.system, row.case): row.model for row in beyond.beyond_rows()}
    base = "recspeed-16-"
    assert rows["beyond XVI", base + "jedec", "SU"] > 300_000
    assert rows["beyond XVI", base + "pipelined", "SU"] > 430_000
    assert rows["beyond XVI", base + "partial-fp32", "LS"] > 1.5 * 30_000
    exact, single = (rows["beyond XVI", base + f"partial-{w}", "LS"] for w in ("exact", "fp32"))
    assert 30_000 < exact < single
    assert ("beyond XVI", base + "partial-fp32", "SU") not in rows
    assert rows["beyond XVII", base + "direct", "SU"] > 99_000


def test_preset_value_follows_paths() -> None:
    assert paper.preset_value("rm2-small:tables.0.lookups") == 80
    assert paper.preset_value("dgx-2:chips") == presets.system("dgx-2").chips
