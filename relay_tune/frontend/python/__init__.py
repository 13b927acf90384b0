"""Python functions and classes as programs: `relay_function` and `relay_model`.

relay_function, program    from functions to a module
source, environment        the syntax tree, and the Python objects that it sees
statements, flow           assignments, and where control goes on; branches, loops, names
expressions, calls, index  expressions; operator_calls and tables: what is called what
patterns                   the patterns of `match`
types, values, scope       annotations, Python objects, and what names mean
static, deferred           what is known while translating, and what waits for types
"""
