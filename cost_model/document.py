"""The file of a saved model: JSON with the trees as text, and a digest against damage."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cost_model.errors import CostModelError
from cost_model.trees import check_trees, with_statistics, without_statistics

FORMAT = "cost_model"
VERSION = 2


@dataclass(frozen=True, slots=True)
class ModelDocument:
    """What is saved: the features, the rows learned from, and the library's JSON of the trees."""

    feature_count: int
    feature_names: tuple[str, ...]
    rows: int
    trees: str


def write_document(document: ModelDocument, path: Path) -> None:
    """Write a document; the file appears whole or not at all."""
    short = replace(document, trees=without_statistics(document.trees))
    content = {"format": FORMAT, "version": VERSION, **asdict(short)}
    content["digest"] = _digest(short)
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(path)


def read_document(path: Path) -> ModelDocument:
    """Read and check a document; `CostModelError` where the file is not a sound one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CostModelError(f"{path} cannot be read as a cost model: {error}") from error
    except RecursionError as error:
        raise CostModelError(f"{path} is nested too deeply to be a cost model") from error
    document = _document(content, path)
    if content.get("digest") != _digest(document):
        raise CostModelError(f"{path} is damaged: its digest differs; train the model again")
    trees = with_statistics(document.trees, str(path))
    check_trees(trees, document.feature_count, str(path))
    return replace(document, trees=trees)


def _document(content: Any, path: Path) -> ModelDocument:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CostModelError(f"{path} is not a cost model")
    if content.get("version") != VERSION:
        raise CostModelError(
            f"{path} has version {content.get('version')!r}, this program reads {VERSION}"
        )
    match content:
        case {
            "feature_count": int(count),
            "feature_names": list(names),
            "rows": int(rows),
            "trees": str(trees),
        } if count > 0 and all(isinstance(name, str) for name in names):
            return ModelDocument(count, tuple(names), rows, trees)
    raise CostModelError(
        f"{path} lacks feature_count, feature_names, rows or trees, or has them in a wrong type"
    )


def _digest(document: ModelDocument) -> str:
    names = " ".join(document.feature_names)
    text = f"{document.feature_count} {names} {document.rows} {document.trees}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
