"""The passes of the language by name, for the command line."""

from __future__ import annotations

from relay_tune.transform.language.a_normal_form import ToANormalForm
from relay_tune.transform.language.basic_block_normal_form import ToBasicBlockNormalForm
from relay_tune.transform.language.defunctionalize import Defunctionalize
from relay_tune.transform.language.eta_expand import EtaExpand
from relay_tune.transform.language.graph_normal_form import ToGraphNormalForm
from relay_tune.transform.language.inline import Inline
from relay_tune.transform.language.inline_local import InlineLocal
from relay_tune.transform.language.lambda_lift import LambdaLift
from relay_tune.transform.language.partial_evaluate import PartialEvaluate
from relay_tune.transform.language.specialize import Specialize
from relay_tune.transform.language.to_cps import ToCps
from relay_tune.transform.language.un_cps import UnCps
from relay_tune.transform.module_pass import ModulePass

LANGUAGE_PASSES: dict[str, ModulePass] = {
    step.name: step
    for step in (
        Specialize(),
        ToANormalForm(),
        ToBasicBlockNormalForm(),
        ToGraphNormalForm(),
        EtaExpand(),
        Inline(),
        InlineLocal(),
        LambdaLift(),
        ToCps(),
        UnCps(),
        PartialEvaluate(),
        Defunctionalize(),
    )
}
