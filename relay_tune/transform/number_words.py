"""Stored numbers of few bits as kernels like to read them: with signs, and in words.

before: qnn.dequantize_blocks(N: uint8, S: float32, 8u8, bits=4)     a number is N >> 4 & 15, less 8
after:  qnn.dequantize_blocks(W: int32, S: float16, 0i8, bits=4)     a number is W << 24 >> 28

Eight numbers of four bits come with one load, in the lanes where they are used; bytes would have to
be spread over lanes first. With signs nothing is subtracted where zero points lie in the middle, as
most do. Scales become float16 where that has all of them exactly.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from relay_tune.codegen.target import native_target
from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.ir.module import Module
from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import SIGNED_BYTES, UNSIGNED_BY_SIGNED
from relay_tune.op_rules.signed_numbers import NUMBERS, StoredNumbers
from relay_tune.op_rules.typed import constant_of, recall
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.module_pass import rewrite_calls


@dataclass(frozen=True)
class NumberWords:
    """Gives constant numbers of few bits signs, and puts those into words that are looked up.

    Fields:
        machine: whose lookups tell which; without them spreading bytes over lanes costs one row
            less than two shifts do (AVX2: 93 us for 768 x 3072 numbers of 4 bits, 103 in words).
        accuracy: numbers of 8 bits lie in words, too, where the machine multiplies four bytes at
            once, and it or the program lets products round their data to bytes, or few rows may be
            written as several bytes and the machine has matrix registers: its vector units multiply
            the words of a line faster than they make floats of its bytes, and its matrix registers
            the panels of many rows. Floats are made of bytes in fewer instructions.
    """

    name: ClassVar[str] = "number_words"
    machine: Machine = field(default_factory=lambda: native_target().machine)
    accuracy: Accuracy = Accuracy.FAST

    def __call__(self, module: Module) -> Module:
        """The module with such numbers; what several calls read stays one constant."""
        made: dict[tuple[object, ...], list[Constant]] = {}

        def changed(node: Expr) -> Expr:
            rule = NUMBERS.rule_of(node)
            found = None if rule is None or not isinstance(node, Call) else rule(node)
            if not isinstance(node, Call) or found is None:
                return node
            if self.machine.lookup_bits < found.bits < 8:
                return node
            in_words = self._multiplies_bytes(found)
            if found.are_signed and not in_words:
                return node
            key = (found.bits, in_words, *map(id, found.constants))
            if key not in made:
                made[key] = [constant_of(each) for each in found.with_signs(in_words=in_words)]
            return recall(node, made[key], **found.attributes) if made[key] else node

        return rewrite_calls(module, changed)

    def _multiplies_bytes(self, found: StoredNumbers) -> bool:
        """Whether products multiply words of four bytes."""
        patterns = (UNSIGNED_BY_SIGNED.name, SIGNED_BYTES.name)
        if not any(each in self.machine.dot_products for each in patterns):
            return False
        if self.accuracy is Accuracy.EXACT:
            return False
        if self.accuracy is Accuracy.RELAXED or found.rounds_data:
            return True
        return bool(self.machine.intrinsics)
