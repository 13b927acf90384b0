"""Type inference: constraints from expressions, unification, type relations of operators.

infer             infer_types, infer_expr: what the rest of the compiler calls
walk, *_rules     the constraints of each kind of expression; state is what they share
unify, solver     holes in types, and relations that wait for them to be filled
generalize        let-polymorphism; typed_tree writes the result into a new program
relations/        the type rules of operators, by family
match_cases, kind_check, well_formed   checks that stand by themselves
"""
