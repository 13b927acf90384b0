"""Checkpoints: the same bits afterwards, and files that are none."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import relay_tune as rt
from tests.training.interrupted import interrupted_step
from tests.training.network import batch, network, weights


def _step(optimiser: object = None) -> rt.training.TrainingStep:
    chosen = rt.training.Adam(0.01) if optimiser is None else optimiser
    return rt.training.step(network(), "cross_entropy", chosen, parameters=weights(), threads=1)


def test_training_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "step.safetensors"
    step, other = _step(), _step()
    step(*batch(0))
    step.save(path)
    expected = [step(*batch(number)) for number in (1, 2)]
    other.load(path)
    assert [other(*batch(number)) for number in (1, 2)] == expected
    for name, value in step.parameters.items():
        np.testing.assert_array_equal(other.parameters[name], value)


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "step.safetensors"
    step = _step()
    with pytest.raises(rt.InputError, match="cannot be read"):
        step.load(path)
    path.write_bytes(b"not one")
    with pytest.raises(rt.InputError, match="is no checkpoint"):
        step.load(path)
    _step(rt.training.SGD(0.1)).save(path)
    with pytest.raises(rt.InputError, match=r"lacks w\.mean"):
        step.load(path)
    with pytest.raises(rt.InputError, match="cannot be written"):
        step.save(tmp_path / "no" / "folder")


def test_training_that_is_killed_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    path, generator = tmp_path / "step.safetensors", np.random.default_rng(0)
    command = [sys.executable, "-m", "tests.training.interrupted", str(path), "1000000"]
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(int(generator.integers(1, 40))):
                assert process.stdout.readline()
            time.sleep(generator.uniform(0, 0.01))  # somewhere in a step or in the writing of it
            process.kill()
    found, straight = interrupted_step(), interrupted_step()
    found.load(path)
    assert found.number > 3
    while straight.number < found.number:
        straight(*batch(straight.number))
    for number in range(found.number, found.number + 2):
        assert found(*batch(number)) == straight(*batch(number))
    for name, value in {**straight.parameters, **straight.states}.items():
        np.testing.assert_array_equal({**found.parameters, **found.states}[name], value)
