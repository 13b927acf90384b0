"""The report as JSON values for scripts."""

from __future__ import annotations

from dataclasses import asdict

from relay_tune.cli.page.kernel import KernelReport
from relay_tune.cli.page.network import NetworkReport


def network_fields(report: NetworkReport) -> dict[str, object]:
    """A network and its kernels; times are seconds, None where the log does not tell them."""
    return {
        "model": report.name or None,
        "target": report.target,
        "threads": report.threads,
        "code_version": report.code_version,
        "measured": report.measured,
        "failed": report.failed,
        "seconds": report.seconds,
        "untuned_seconds": report.untuned,
        "least_seconds": report.least,
        "network": None if report.whole is None else asdict(report.whole.times),
        "kernels": [_kernel_fields(report, kernel) for kernel in report.kernels],
    }


def _kernel_fields(report: NetworkReport, kernel: KernelReport) -> dict[str, object]:
    return {
        "title": kernel.title,
        "nodes": list(kernel.nodes),
        "workload": kernel.digest,
        "runs": kernel.runs,
        "share": report.share(kernel),
        "seconds": kernel.seconds,
        "untuned_seconds": kernel.untuned,
        "limit_share": kernel.limit_share,
        "limit": None if kernel.bound is None else kernel.bound.name,
        "operations": kernel.operations,
        "bytes": kernel.bytes,
        "measured": len(kernel.samples),
        "failures": dict(kernel.failures),
        "schedule": kernel.schedule or None,
    }
