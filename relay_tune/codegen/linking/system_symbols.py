"""The functions that libraries take from the system, and since which version it has them.

A library asks for the oldest version of each function that does what it needs, so that it runs
with glibc 2.17 and all that came later: a newer glibc keeps the older versions. Threads were a
library of their own until glibc 2.34, which still answers to its name. The versions are those of
the ABI lists of glibc (sysdeps/unix/sysv/linux/{x86_64/64,aarch64}/*.abilist).
"""

from __future__ import annotations

from relay_tune.machine.linking import Linking
from relay_tune.quick_dataclass import dataclass

LIBC, LIBM, LIBPTHREAD = "libc.so.6", "libm.so.6", "libpthread.so.0"


@dataclass(frozen=True, slots=True)
class SystemSymbol:
    """A function of the system.

    Attributes:
        library: the file that has it, as programs name it.
        version: the version of the function.
    """

    library: str
    version: str


_NAMES = {
    LIBC: """
        _setjmp abort calloc clock_gettime free getauxval getpid longjmp madvise malloc memcmp
        memcpy memmove memset mincore mmap mprotect mremap munmap posix_memalign realloc
        sched_getaffinity sched_getcpu sched_yield syscall
    """,
    LIBPTHREAD: """
        pthread_cond_broadcast pthread_cond_init pthread_cond_wait pthread_create pthread_join
        pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock pthread_setaffinity_np
    """,
    LIBM: """
        acos acosf acosh asin asinf asinh atan atan2 atan2f atanf atanh cbrt ceil ceilf copysign
        copysignf cos cosf cosh erf erff exp exp2 exp2f expf expm1 expm1f fdim floor floorf fma
        fmaf fmax fmaxf fmin fminf fmod fmodf ldexp lgamma log log10 log1p log1pf log2 log2f logf
        nearbyint nearbyintf pow powf rint rintf round roundf sin sinf sinh tan tanf tanh tanhf
        tgamma trunc truncf
    """,
}

_LIBRARIES = {name: library for library, names in _NAMES.items() for name in names.split()}


def system_symbol(name: str, linking: Linking) -> SystemSymbol | None:
    """A function of the system for an architecture; None where it is not known."""
    library = _LIBRARIES.get(name)
    if library is None:
        return None
    return SystemSymbol(library, linking.later_versions.get(name, linking.first_version))
