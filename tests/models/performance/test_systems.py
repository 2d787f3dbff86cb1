"""Every system preset against the paper's own numbers or its source; impossible systems refused."""

import pytest

from recspeed.models.performance import paper, presets
from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.model import evaluate
from recspeed.models.performance.paper_tables import all_systems, what_fits, what_if
from recspeed.models.spec.placement_strategy import parse_placement

NAMES = presets.names("systems")
USED = [
    (number, row)
    for number, table in paper.tables().items()
    for row in table["rows"]
    if "used" in row
]


@pytest.mark.parametrize(("number", "row"), USED, ids=lambda part: str(part)[:40])
def test_presets_use_the_papers_tables(number: str, row: dict) -> None:
    assert paper.preset_value(row["used"]) == row["value"], (number, row["item"])


FROM_SOURCES = [
    # What the paper's text or the named source says, for presets that no table describes in full.
    ("recspeed-16", "chips", 16),
    ("recspeed-6", "chips", 6),
    ("recspeed-8", "chips", 8),
    ("recspeed-16", "memory.0.source.gb_per_s", 2304),
    ("recspeed-16-jedec", "memory.0.source.preset", "hbm2e-3000"),
    ("recspeed-16-golden", "memory.0.source.preset", "hbm2e-3000-golden"),
    # One rank of a channel that holds several, or two ranks that take turns.
    ("recspeed-16", "memory.1.source.preset", "ddr4-3200-x8-1r"),
    ("recspeed-16-golden", "memory.1.source.preset", "ddr4-3200-x8-1r-golden"),
    ("tensordimm", "memory.0.source.preset", "ddr4-3200-x8-1r"),
    ("recnmp", "memory.0.source.preset", "ddr4-3200-x8-1r"),
    ("gc200-4", "memory.1.source.preset", "ddr4-3200-x8-1r"),
    ("xeon-ddr4", "memory.0.source.preset", "ddr4-3200"),
    ("zion", "memory.0.source.preset", "ddr4-3200"),
    ("aibox", "memory.0.cache.source.preset", "ddr4-3200"),
    ("recspeed-16-direct", "interconnect.latency_us.all_to_all", 0.2),
    ("recspeed-16-direct-jedec", "memory.0.source.preset", "hbm2e-3000"),
    ("recspeed-6-jedec", "chips", 6),
    ("dgx-2", "chips", 16),
    ("dgx-2", "memory.0.source.gb_per_s", 64 * 18.4),
    ("dgx-a100", "memory.0.source.gb_per_s", 80 * 2.43 * 8),
    ("hls-1", "memory.0.source.gb_per_s", 1024),
    ("xeon-ddr4", "memory.0.source.gb_per_s", 153.6),
    ("tensordimm", "memory.0.source.units", 12),
    ("tensordimm", "memory.0.attachment.pools", True),
    ("recnmp", "memory.0.cache.hit_rate", 0.5),
    ("seal-12", "memory.0.source.units", 24),
    ("seal-12", "memory.0.source.gb_per_s", 24 * 9.6),
    ("upmem", "memory.0.source.units", 2560),
    ("upmem", "memory.0.capacity_gb", 160),
    ("aibox", "memory.0.cache.hit_rate", 0.85),
    ("cs-1", "interconnect.topology", "mesh"),
    ("cs-1-dram", "interconnect.topology", "fully-connected"),
    ("gc2-16", "chips", 16),
    ("gc200-4", "memory.1.source.units", 0.5),
    ("gc200-4-dram", "memory.0.source.units", 64),
    ("dgx-a100-plus", "memory.0.source.units", 96),
    ("zion", "memory.0.attachment.pools", True),
]


@pytest.mark.parametrize(("name", "key", "value"), FROM_SOURCES)
def test_presets_say_what_their_sources_say(name: str, key: str, value) -> None:
    found = paper.preset_value(f"{name}:{key}")
    assert found == (pytest.approx(value) if isinstance(value, float) else value)


def test_every_preset_is_covered_by_a_source_test() -> None:
    covered = {name for name, _, _ in FROM_SOURCES}
    covered |= {row["used"].partition(":")[0] for _, row in USED}
    assert set(NAMES) <= covered


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_runs_and_names_its_sources(name: str) -> None:
    system = presets.system(name)
    assert system.name == name
    assert system.sources
    assert all(text.strip() for text in (*system.sources.values(), *system.unknown))
    if not name.startswith("recspeed-16") and name not in ("recspeed-8", "xeon-ddr4"):
        assert "memory" in system.sources or "chips" in system.sources
    result = evaluate(presets.workload("rm2-small"), system, parse_placement("unsharded"))
    assert result.qps > 0


def test_memory_totals_of_whole_systems() -> None:
    gib = 2**30
    assert presets.system("recspeed-16").memory_bytes == 16 * (96 + 256) * gib
    assert presets.system("cs-1").memory_bytes == pytest.approx(18 * gib, rel=0.001)
    assert presets.system("gc2-16").memory_bytes == pytest.approx(16 * 300 * 2**20, rel=0.001)
    assert presets.system("dgx-a100").memory_bytes == 320 * gib
    assert presets.system("hls-1").memory_bytes == 256 * gib


def test_orders_that_the_paper_argues_for() -> None:
    rates = {row[0]: [float(value) for value in row[3:7]] for row in all_systems()}
    # Sec. IV-D: HBM far above a six-channel DDR4 server on lookups.
    assert rates["recspeed-16"][2] > 100 * rates["xeon-ddr4"][2]
    # Sec. II-C: pooling near memory helps where the channel is the limit.
    assert rates["tensordimm"][2] > 1.8 * rates["xeon-ddr4"][2]
    # Sec. II-C: SEAL's twelve modules beat the six channels whose space they take.
    assert rates["seal-12"][0] > rates["xeon-ddr4"][0]
    # Sec. VI: sharding costs systems with little bandwidth the most.
    assert rates["dgx-2"][2] / rates["dgx-2"][3] > rates["recspeed-16"][2] / rates["recspeed-16"][3]


def test_what_fits_in_chips_without_dram() -> None:
    rows = {row[0]: row for row in what_fits()}
    assert rows["cs-1"][-1] == "does not fit"
    assert rows["gc2-16"][-1] == "does not fit"
    assert rows["cs-1-dram"][-1] != "does not fit"
    assert rows["recspeed-16"][-1] != "does not fit"
    changes = {row[0]: float(row[1]) for row in what_if()}
    for before, after in (("dgx-a100", "dgx-a100-plus"), ("cs-1", "cs-1-dram")):
        assert changes[after] > 4 * changes[before]


BASE = "extends = 'recspeed-16'\nname = 'own'\n"
MEMORY = "[[memory]]\nname = 'M'\nkind = 'hbm'\ncapacity_gb = 1\n[memory.source]\nunits = 1\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("colour = 'red'", "colour"),
        ("chips = 0", "chips: .*greater than 0"),
        ("[interconnect]\nlinks_per_chip = 3", "16 fully connected chips need 15 links per chip"),
        ("[interconnect]\nlinks_per_chip = 0", "at least one link per chip"),
        ("[interconnect]\ntopology = 'none'", "16 chips with zero links"),
        ("[interconnect]\ngb_per_s = 0", "gb_per_s above zero"),
        ("[interconnect]\nlink_latency_us = 1", "either latency_us per operation or link_latency"),
        ("[interconnect]\nhops = 1", "interconnect.hops"),
        ("[compute]\ntflops = -1", "compute.tflops"),
        ("[compute]\ntflops = nan", "compute.tflops"),
        ("[interconnect]\ngb_per_s = inf", "interconnect.gb_per_s"),
        ("schedule = 'eager'", "schedule"),
        ("lookup_groups = 0", "lookup_groups"),
        (MEMORY, "give either preset or rate"),
        (MEMORY + "preset = 'hbm9'", "memory preset 'hbm9' does not exist; there are ddr4-2400"),
        (MEMORY + "preset = 'ddr4-3200'\n[memory.cache]\nhit_rate = 2", "memory.0.cache"),
        (MEMORY + "preset = 'ddr4-3200-2rank'", "memory preset 'ddr4-3200-2rank' does not exist"),
        (MEMORY + "preset = 'hbm9-golden'", "memory preset 'hbm9-golden' does not exist"),
        (f"{MEMORY}preset = 'ddr4-3200'\n{MEMORY}preset = 'ddr4-3200'", "have one name: M, M"),
    ],
)
def test_impossible_systems_are_refused_with_the_reason(tmp_path, text: str, reason: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(BASE + text + "\n")
    with pytest.raises(SpecificationError, match=reason) as caught:
        presets.system(str(path))
    assert "\n" not in str(caught.value)


def test_a_users_own_system_extends_a_preset(tmp_path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(BASE + "chips = 4\n[interconnect]\ngb_per_s = 500\n")
    system = presets.system(str(path))
    assert (system.chips, system.interconnect.gb_per_s) == (4, 500)
    assert system.memory == presets.system("recspeed-16").memory
