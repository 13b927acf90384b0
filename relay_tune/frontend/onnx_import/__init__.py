"""ONNX in: node by node into typed expressions; `from_onnx` is what users call.

from_onnx, model, inputs  the file, its graph, and the inputs as parameters
support                   before anything else: what has no translation
graph, node, scope        the walk over nodes, and what a translator sees of one
build, folding            typed expressions, one operator call at a time, computed where it is known
operators                 the translators, by family, and the table of them
control, functions        branches, loops and scans, functions of the file
open_loop, collected_rounds   loops of open length as functions
symbolic, symbolic_rules  elements of shape computations, as dimensions
open_sizes, result_type   sizes that only a run knows, and those that meet other names
dynamic_inputs, deciding_inputs, input_hints   what a file leaves open, and what to give for it
tensor, types, json_text  tensors, element types, and models in JSON
"""
