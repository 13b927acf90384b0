"""The JSON of trees: made smaller, and checked before the library that walks them sees it.

The library trusts the indices in a file; one out of range would read foreign memory.
"""

import json
from typing import Any

from cost_model.errors import CostModelError

NODE_ARRAYS = (
    "left_children",
    "right_children",
    "parents",
    "split_indices",
    "split_conditions",
    "default_left",
    "base_weights",
    "loss_changes",
    "sum_hessian",
    "split_type",
)
STATISTICS = ("base_weights", "loss_changes", "sum_hessian")
"""What is noted of each node while a tree grows; it plays no part in what the tree says."""

NO_CHILD = -1


def without_statistics(text: str) -> str:
    """The same trees in half of the text; `with_statistics` makes them readable for the library."""
    content = json.loads(text)
    for tree in content["learner"]["gradient_booster"]["model"]["trees"]:
        for name in STATISTICS:
            del tree[name]
    return json.dumps(content, separators=(",", ":"))


def with_statistics(text: str, where: str) -> str:
    """The trees with zeros for statistics left out; `CostModelError` if they are malformed."""
    try:
        content = json.loads(text)
        for tree in content["learner"]["gradient_booster"]["model"]["trees"]:
            zeros = [0.0] * len(tree["parents"])
            for name in STATISTICS:
                tree.setdefault(name, zeros)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CostModelError(f"{where}: the trees are malformed: {error!r}") from error
    return json.dumps(content)


def check_trees(text: str, feature_count: int, where: str) -> None:
    """Raise `CostModelError` unless every tree is a tree over the given number of features."""
    try:
        learner = json.loads(text)["learner"]
        trees = learner["gradient_booster"]["model"]["trees"]
        features = int(learner["learner_model_param"]["num_feature"])
        sound = features == feature_count and bool(trees)
        sound = sound and all(_is_sound(tree, feature_count) for tree in trees)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CostModelError(f"{where}: the trees are malformed: {error!r}") from error
    if not sound:
        raise CostModelError(f"{where}: the trees are inconsistent; train the model again")


def _is_sound(tree: dict[str, Any], feature_count: int) -> bool:
    """Whether children come after their parents, in range, and splits name existing features."""
    count = int(tree["tree_param"]["num_nodes"])
    if count < 1 or any(len(tree[name]) != count for name in NODE_ARRAYS):
        return False
    if tree["categories_nodes"] or any(tree["split_type"]):
        return False
    children = zip(tree["left_children"], tree["right_children"], strict=True)
    return all(
        left == right == NO_CHILD or (node < left < count and node < right < count)
        for node, (left, right) in enumerate(children)
    ) and all(0 <= feature < feature_count for feature in tree["split_indices"])
