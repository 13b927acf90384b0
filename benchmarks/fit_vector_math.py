"""Fits the coefficients of `relay_tune/codegen/vector_math_*.py` and prints them as tables.

    python -m benchmarks.fit_vector_math

Every fit is a discrete minimax fit on Chebyshev points: weighted least squares whose weights grow
where the error is large (Lawson 1961), in float64, which is far more precise than the float32
results that the fits are for. Coefficients of float32 polynomials are rounded one after another,
the most important first, and the others are fitted again around the rounded ones.

Tables are in the order of Horner's rule: the highest power first.
"""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
POINTS = 3000
ROUNDS = 150


def chebyshev_points(low: float, high: float) -> Array:
    """Points in an interval, denser at the ends."""
    angles = (np.arange(POINTS) + 0.5) * np.pi / POINTS
    return (low + high) / 2 - (high - low) / 2 * np.cos(angles)


def linear_minimax(columns: Array, values: Array) -> tuple[Array, float]:
    """Factors of the columns with the least maximal error, and that error."""
    scale = np.abs(columns).max(axis=0)
    weights = np.full(len(values), 1.0 / len(values))
    best, best_error = np.zeros(columns.shape[1]), math.inf
    for _ in range(ROUNDS):
        root = np.sqrt(weights)
        solution = np.linalg.lstsq(columns / scale * root[:, None], values * root, rcond=None)[0]
        errors = np.abs(columns / scale @ solution - values)
        if errors.max() < best_error:
            best, best_error = solution / scale, float(errors.max())
        weights = weights * errors
        weights /= weights.sum()
    return best, best_error


def polynomial_fit(
    x: Array,
    values: Array,
    weights: Array,
    degree: int,
    *,
    fixed: tuple[float, ...] = (),
    single: bool = True,
) -> tuple[Array, float]:
    """Coefficients (lowest first) with the least maximal `weights * (polynomial - values)`.

    `fixed` are the lowest coefficients; `single` rounds each coefficient to float32.
    """
    known = list(fixed)
    powers = x[:, None] ** np.arange(degree + 1) * weights[:, None]
    while True:
        rest = values * weights - powers[:, : len(known)] @ np.array(known)
        if len(known) == degree + 1:
            return np.array(known), float(np.abs(rest).max())
        free, error = linear_minimax(powers[:, len(known) :], rest)
        if not single:
            return np.concatenate([known, free]), error
        known.append(float(np.float32(free[0])))


def show(name: str, coefficients: Array, error: float, *, single: bool = True) -> None:
    """Print a table for the source."""
    print(f"# largest weighted error {error:.2g}")
    print(f"{name} = (")
    for number in reversed(coefficients):
        print(f"    {float(str(np.float32(number))) if single else float(number)!r},")
    print(")\n")


def fit_exp() -> None:
    """e^r; beyond ln(2) / 2 only the top of the range is computed, and may be less exact."""
    x = chebyshev_points(-0.3475, 0.7015)
    weights = np.exp(-x) * np.where(x < 0.3475, 1.0, 0.3)
    show("EXP", *polynomial_fit(x, np.exp(x), weights, 6, fixed=(1.0, 1.0)))


def fit_exp2() -> None:
    """2^f for rests of rounding to the nearest integer, beyond the largest too, and downward."""
    for name, low, degree in (("EXP2", -0.5, 6), ("EXP2_ABOVE", 0.0, 5)):
        x = chebyshev_points(low, 1.0)
        show(name, *polynomial_fit(x, np.exp2(x), np.exp2(-x), degree, fixed=(1.0,)))


def fit_log() -> None:
    """(log(1 + f) - f) / f^2, with the error relative to log(1 + f)."""
    f = chebyshev_points(-1 / 3, 1 / 3)
    f = f[np.abs(f) > 1e-4]
    weights = np.abs(f * f / np.log1p(f))
    show("LOG", *polynomial_fit(f, (np.log1p(f) - f) / (f * f), weights, 8))


def fit_tanh() -> None:
    """((e^2r - 1) / 2 - r) / r^2, with the error relative to e^2r - 1."""
    r = chebyshev_points(-0.1738, 0.1738)
    r = r[np.abs(r) > 1e-3]
    half = np.expm1(2 * r) / 2
    show("TANH", *polynomial_fit(r, (half - r) / (r * r), np.abs(r * r / half), 4))


def rational_fit(t: Array, values: Array, degree: int) -> tuple[Array, Array, float]:
    """Polynomials N and D with the least maximal relative error of N / D, in float64.

    N - values * D is linear in the coefficients; its weights are of the D before.
    """
    powers = (t / t.max())[:, None] ** np.arange(degree + 1)
    columns = np.concatenate([powers, -values[:, None] * powers[:, 1:]], axis=1)
    weights, denominator = np.full(len(t), 1.0 / len(t)), np.ones(len(t))
    best, best_error = np.zeros(columns.shape[1]), math.inf
    for _ in range(ROUNDS):
        root = np.sqrt(weights) / (denominator * values)
        scale = np.abs(columns * root[:, None]).max(axis=0)
        found = np.linalg.lstsq(columns * root[:, None] / scale, values * root, rcond=None)[0]
        found /= scale
        denominator = 1 + powers[:, 1:] @ found[degree + 1 :]
        errors = np.abs(powers @ found[: degree + 1] / denominator / values - 1)
        if errors.max() < best_error:
            best, best_error = found, float(errors.max())
        weights = weights * (errors + 1e-14)
        weights /= weights.sum()
    back = t.max() ** np.arange(degree + 1)
    return best[: degree + 1] / back, np.concatenate([[1], best[degree + 1 :]]) / back, best_error


def fit_erf(end: float = 3.94, middle: float = 0.3125, scales: int = 200) -> None:
    """erf(x) / x - middle as a quotient of polynomials in x^2.

    Numerator and denominator are scaled alike so that their float32 coefficients give least error;
    those of the source were improved further by changing them at random in their last digits.
    """
    erf = np.vectorize(math.erf)
    x = chebyshev_points(1e-3, end)
    numerator, denominator, error = rational_fit(x * x, erf(x) / x, 5)
    print(f"# largest relative error {error:.2g} before rounding")
    t, values = x * x, erf(x) / x - middle
    powers = t[:, None] ** np.arange(6)

    def rounded(scale: float) -> tuple[Array, Array]:
        both = (scale * (numerator - middle * denominator), scale * denominator)
        return both[0].astype(np.float32), both[1].astype(np.float32)

    def largest(scale: float) -> float:
        above, below = (powers @ each.astype(float) for each in rounded(scale))
        return float(np.abs((above / below - values) / (values + middle)).max())

    best = min(np.linspace(1, 2, scales), key=largest)
    for name, coefficients in zip(("NUMERATOR", "DENOMINATOR"), rounded(best), strict=True):
        show(f"ERF_{name}", coefficients.astype(float), largest(best))


def fit_wide() -> None:
    """The float64 polynomials behind float32 functions that are not worth float32 ones."""
    r = chebyshev_points(-math.log(2) / 2, math.log(2) / 2)
    r = r[np.abs(r) > 1e-3]
    values = (np.expm1(r) - r) / (r * r)
    show("EXPM1", *polynomial_fit(r, values, r * r / np.expm1(r), 7, single=False), single=False)
    s = chebyshev_points(0.01, 0.2)
    values = (2 * np.arctanh(s) - 2 * s) / s**3
    show("ATANH", *polynomial_fit(s * s, values, s * s, 5, single=False), single=False)


def fit_trigonometry() -> None:
    """sin(pi / 2 r) / r and cos(pi / 2 r) in r^2, (atan(t) - t) / t^3 in t^2; all float64."""
    r = chebyshev_points(1e-3, 0.5)
    ratio = np.sin(np.pi / 2 * r) / r
    show("SINE", *polynomial_fit(r * r, ratio, 1 / ratio, 4, single=False), single=False)
    cosine = np.cos(np.pi / 2 * r)
    show("COSINE", *polynomial_fit(r * r, cosine, 1 / cosine, 5, single=False), single=False)
    t = chebyshev_points(0.02, 1.0)
    values = (np.arctan(t) - t) / t**3
    weights = t**3 / np.arctan(t)
    show("ATAN", *polynomial_fit(t * t, values, weights, 10, single=False), single=False)


def print_two_over_pi(chunk_bits: int = 28, chunks: int = 7) -> None:
    """2 / pi in parts whose products with a float32 are exact in float64.

    pi comes from Machin's formula 16 atan(1/5) - 4 atan(1/239) in integers of 400 bits.
    """
    one = 1 << 400
    pi = 16 * _inverse_tangent(one, 5) - 4 * _inverse_tangent(one, 239)
    fraction = 2 * one * one // pi
    print("TWO_OVER_PI = (")
    for index in range(1, chunks + 1):
        part = (fraction >> (400 - chunk_bits * index)) & ((1 << chunk_bits) - 1)
        print(f"    {math.ldexp(part, -chunk_bits * index)!r},")
    print(")")


def _inverse_tangent(one: int, inverse: int) -> int:
    """one * atan(1 / inverse) by its series."""
    power, total, index = one // inverse, 0, 0
    while power:
        total += (-power if index % 2 else power) // (2 * index + 1)
        power //= inverse * inverse
        index += 1
    return total


def main() -> None:
    """Print all tables."""
    for fit in (fit_exp, fit_exp2, fit_log, fit_tanh, fit_erf, fit_wide, fit_trigonometry):
        fit()
    print_two_over_pi()


if __name__ == "__main__":
    main()
