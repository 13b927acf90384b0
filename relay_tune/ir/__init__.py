"""The language: dimensions, types, expressions, modules, and their text.

expr, types, dim          expressions, types, dimensions (dim_arithmetic, dim_order)
module, type_data         programs: functions and algebraic data types
operator, operator_table  what an operator is, and the table of them
parser, printer           text in and out; literals, names, metadata, json_form
structural                equality and hash up to renaming
traversal, trampoline     walks and recursion without the Python stack
"""
