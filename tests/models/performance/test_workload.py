"""Workload specifications: derived sizes against the paper and by hand, refusals."""

import pytest

from recspeed.models.performance import presets
from recspeed.models.performance.errors import SpecificationError
from recspeed.models.spec.workload import Workload, row_bytes

SMALL = presets.workload("rm2-small")
LARGE = presets.workload("rm2-large")


@pytest.mark.parametrize(
    ("workload", "width", "parameters", "macs"),
    [(SMALL, 852, 540_609, 566_016), (LARGE, 948, 592_929, 696_960)],
)
def test_rm2_sizes(workload: Workload, width: int, parameters: int, macs: int) -> None:
    assert workload.interaction_width == width
    assert workload.dense_parameters == parameters
    assert workload.macs_per_sample == macs
    assert workload.lookups_per_sample == 40 * 80


def test_sizes_by_hand_of_a_small_model() -> None:
    workload = Workload(
        name="hand",
        title="two tables",
        batch=3,
        dense_features=5,
        bottom_mlp=(4, 2),
        top_mlp=(3, 1),
        tables=({"count": 2, "dimension": 2, "lookups": 7, "rows": 10},),  # type: ignore[arg-type]  # pydantic converts
    )
    # Three vectors give three pairs, joined to the two outputs of the bottom MLP.
    assert workload.interaction_width == 3 + 2
    weights = 5 * 4 + 4 * 2 + 5 * 3 + 3 * 1
    assert workload.mlp_macs_per_sample == weights
    assert workload.dense_parameters == weights + 4 + 2 + 3 + 1
    assert workload.interaction_macs_per_sample == 3 * 2
    assert workload.activations_per_sample == 5 + (4 + 2) + 5 + (3 + 1)
    assert workload.gathered_bytes_per_sample == 2 * 7 * 4
    assert workload.changed(keep_diagonal=True).interaction_width == 6 + 2


def test_cross_network_is_counted() -> None:
    workload = presets.workload("mlperf-dcnv2")
    width = 27 * 128
    assert workload.interaction_width == width
    assert workload.interaction_macs_per_sample == 3 * 2 * width * 512
    mlps = (13 * 512 + 512) + (512 * 256 + 256) + (256 * 128 + 128)
    mlps += (width * 1024 + 1024) + (1024 * 1024 + 1024) + (1024 * 512 + 512)
    mlps += (512 * 256 + 256) + (256 + 1)
    assert workload.dense_parameters == mlps + 3 * (2 * width * 512 + width)
    assert workload.lookups_per_sample == 214


@pytest.mark.parametrize(
    ("dtype", "dimension", "expected"),
    [("fp32", 32, 128), ("fp16", 32, 64), ("int8", 32, 36), ("int4", 32, 20), ("int4", 5, 7)],
)
def test_row_bytes(dtype, dimension: int, expected: int) -> None:
    assert row_bytes(dimension, dtype) == expected


def test_a_changed_workload_forgets_what_was_derived() -> None:
    assert SMALL.dense_parameters == 540_609
    wider = SMALL.changed(top_mlp=(1024, 1))
    assert wider.dense_parameters != SMALL.dense_parameters
    assert wider.dense_parameters == 256 * 128 + 128 + 128 * 32 + 32 + 32 * 32 + 32 + (
        852 * 1024 + 1024 + 1024 + 1
    )


def write(tmp_path, text: str) -> str:
    path = tmp_path / "own.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("colour = 'red'", "colour"),
        ("batch = 0", "batch: .*greater than 0"),
        ("batch = -3", "batch: .*greater than 0"),
        ("bottom_mlp = [128, 64]", "bottom_mlp ends at 64 and the tables have dimension 32"),
        ("interaction = 'dcn'", r"needs a \[cross\] section"),
        ("interaction = 'product'", "interaction"),
        ("index_bytes = 3", "index_bytes"),
        ("tables = []", "tables: .*at least 1"),
        ("skew = 1.5", "skew: .*less than 1"),
        ("top_mlp = 'deep'", "top_mlp"),
    ],
)
def test_refused_with_the_reason(tmp_path, change: str, reason: str) -> None:
    path = write(tmp_path, f"extends = 'rm2-small'\n{change}\n")
    with pytest.raises(SpecificationError, match=reason) as caught:
        presets.workload(path)
    assert "\n" not in str(caught.value)
    assert path in str(caught.value)


def test_unknown_names_list_what_there_is() -> None:
    with pytest.raises(SpecificationError, match=r"'rm9' does not exist; there are .*rm2-small"):
        presets.workload("rm9")
    with pytest.raises(SpecificationError, match=r"file nowhere\.toml does not exist"):
        presets.workload("nowhere.toml")


def test_broken_toml_and_circles(tmp_path) -> None:
    with pytest.raises(SpecificationError, match="not a TOML file"):
        presets.workload(write(tmp_path, "name = ["))
    path = tmp_path / "circle.toml"
    path.write_text(f"extends = '{path}'\n")
    with pytest.raises(SpecificationError, match="extends itself"):
        presets.workload(str(path))


def test_every_workload_preset_loads_with_sources() -> None:
    for name in presets.names("workloads"):
        workload = presets.workload(name)
        assert workload.name == name
        assert {"tables", "batch"} <= set(workload.sources), name
