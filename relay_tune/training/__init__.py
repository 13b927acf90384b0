"""Derivatives of programs, and training in native code.

    step = rt.training.step(rt.from_onnx("net.onnx"), loss="cross_entropy",
                            optimiser=rt.training.Adam(1e-3))
    for images, labels in batches:
        loss = step(images, labels)
    onnx.save(rt.to_onnx(step.trained()), "trained.onnx")

derivatives    rt.grad, rt.value_and_grad, rt.jvp, rt.vjp, rt.hessian_vector
parameters     which constants of a network are trained
losses         what is minimised
chosen_loss    the one of a step, checked against what the network returns
optimisers     how a gradient changes a parameter, and schedules of the learning rate
program        a training step as a program
slices         the loss of a slice of a batch; sample_axes, sample_numbers: whether it is one
summed_slices  the gradients of a batch as sums over its slices
many_steps     many of them as one program
order          which samples make up the batches of many steps
step           the step compiled, with its parameters
checkpoint     parameters and states in a file
"""

from relay_tune.training.losses import LOSSES
from relay_tune.training.optimisers import SGD, Adam, AdamW, RMSprop
from relay_tune.training.order import shuffled
from relay_tune.training.parameters import parameters_of, with_parameters
from relay_tune.training.rates import Cosine, Steps, Warmup
from relay_tune.training.step import TrainingStep, step

__all__ = [
    "LOSSES",
    "SGD",
    "Adam",
    "AdamW",
    "Cosine",
    "RMSprop",
    "Steps",
    "TrainingStep",
    "Warmup",
    "parameters_of",
    "shuffled",
    "step",
    "with_parameters",
]
