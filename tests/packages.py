"""Pretends that a package which extends synmt is installed."""

from pathlib import Path

ROOT = Path(__file__).parents[1]


def install(folder: Path, name: str, code: str, entry_points: str) -> str:
    """Write a package with one module into a folder; return a PYTHONPATH with this package and synmt."""
    installed = folder / f"{name}-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(entry_points)
    (folder / f"{name}.py").write_text(code)
    return f"{folder}:{ROOT}"
