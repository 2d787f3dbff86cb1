"""`recspeed reproduce`: what it writes and prints, and that it fails when the model is wrong."""

import contextlib
import csv
import io
from pathlib import Path

import pytest

from recspeed.models.performance import access
from recspeed.scripts.main import run
from recspeed.scripts.reports import reproduce as reproduction


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a reproduction, and what the command printed."""
    out = tmp_path_factory.mktemp("reproduce")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert run(["reproduce", "--out", str(out)]) == 0
    return out, text.getvalue()


@pytest.fixture
def folder(printed: tuple[Path, str]) -> Path:
    return printed[0]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_tables_csv_has_the_agreed_columns_and_all_cells(folder: Path) -> None:
    path = folder / "tables.csv"
    header = path.read_text(encoding="utf-8").splitlines()[0]
    assert header == "table,system,case,quantity,paper,model,relative_error"
    found = rows(path)
    cells = [r for r in found if r["table"] in ("XVI", "XVII") and r["quantity"] != "speedup"]
    assert len(cells) == 32
    assert {r["quantity"] for r in cells} == {"qps", "memory_utilisation", "all_reduce_share"}
    assert len([r for r in found if r["quantity"] == "speedup"]) == 8
    for row in found:
        error = float(row["model"]) / float(row["paper"]) - 1
        assert float(row["relative_error"]) == pytest.approx(error, abs=2e-4)
    assert max(abs(float(r["relative_error"])) for r in cells) <= 0.045
    assert any(r["table"] == "Sec. VI-B" for r in found)
    assert any(r["table"].startswith("beyond") for r in found)


def test_every_table_and_figure_is_there_as_csv_and_picture(folder: Path) -> None:
    names = [f"table-{number:02d}" for number in range(1, 18)]
    names += [f"figure-{number:02d}" for number in range(5, 14)]
    names += [
        "sensitivity",
        "roofline",
        "serving",
        "beyond",
        "energy",
        "systems",
        "placements",
        "chips-without-dram",
    ]
    for name in names:
        assert len(rows(folder / f"{name}.csv")) >= 2, name
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG"), name
    assert not list(folder.glob(".*"))


def test_the_page_holds_every_exhibit_and_is_one_file(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    for path in folder.glob("*.csv"):
        if path.name != "tables.csv":
            assert f'id="{path.stem}"' in page, path.name
    assert page.count("data:image/png;base64,") >= 14
    assert 'src="http' not in page
    assert "27 of 32" in page


def test_figure_6_is_the_bound_that_characterize_prints(folder: Path, tmp_path: Path) -> None:
    command = ["characterize", "--figure", "6", "--engine", "bound", "--out", str(tmp_path)]
    assert run(command) == 0
    bounds = {
        (f"{row['system']} (GB/s)", row["embedding_bytes"]): float(row["gb_per_s_system"])
        for row in rows(tmp_path / "figure-06.csv")
    }
    reproduced = {
        (label, row["embedding_bytes"]): float(value)
        for row in rows(folder / "figure-06.csv")
        for label, value in row.items()
        if label != "embedding_bytes"
    }
    assert len(reproduced) == 3 * 8
    # One file has all digits, the other two decimals.
    assert {key: f"{value:.2f}" for key, value in reproduced.items()} == {
        key: f"{value:.2f}" for key, value in bounds.items()
    }


def test_sensitivity_has_a_column_for_every_cell(folder: Path) -> None:
    found = rows(folder / "sensitivity.csv")
    assert len(found[0]) == 5 + 32
    assert len(found) >= 20


def test_the_summary_prints_every_figure_of_merit(printed: tuple[Path, str]) -> None:
    text = printed[1]
    assert "32 cells: largest error" in text
    assert "27 round to the printed value" in text
    assert "Fig. 11d" in text
    assert "index_bytes: paper 320000, model 320000" in text


def test_a_wrong_model_fails_the_command_but_still_reports(tmp_path, capsys, monkeypatch) -> None:
    slower = {
        **access.CALIBRATED,
        "hbm2e-3000-paper": ((64, 6.5), (256, 13.3)),
    }
    monkeypatch.setattr(access, "CALIBRATED", slower)
    access.access_time.cache_clear()
    try:
        assert run(["reproduce", "--out", str(tmp_path)]) == 1
    finally:
        monkeypatch.undo()
        access.access_time.cache_clear()
    line = capsys.readouterr().err
    assert line.startswith("recspeed: not reached: Table XVI recspeed-16 SU qps: paper 300000")
    assert line.count("\n") == 1
    assert "Not reached" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_out_must_be_a_folder(tmp_path, capsys) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    assert run(["reproduce", "--out", str(path)]) == 2
    assert "is a file, expected a folder" in capsys.readouterr().err
    assert path.read_text() == "mine"


def test_a_summary_lists_what_is_not_reached() -> None:
    good = reproduction.summarise()
    assert good.failures == []
    row = good.cells[0]
    bad = type(row)(row.table, row.system, row.case, row.quantity, row.paper, row.paper * 1.2)
    check = type(good.axes[0])("8a", 75e3, 175e3, 50e3, 10e3, 195e3, whole=False)
    speedup = type(row)("XVI", "recspeed-16", "SU", "speedup", 62, 65)
    failures = reproduction.Summary([bad], [speedup], [], [check]).failures
    assert [line.split()[0] for line in failures] == ["Table", "speed-up", "Fig."]
