"""Packages in a folder, as an installer leaves them."""

from pathlib import Path


def install_entry(folder: Path, name: str, group: str, entry: str) -> None:
    """What an installer says of a package with an entry point: `called = module:value`."""
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
