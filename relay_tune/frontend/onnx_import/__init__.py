"""ONNX in: node by node into typed expressions; `from_onnx` is what users call.

from_onnx, model, inputs  the file, its graph, and the inputs as parameters
support                   before anything else: what has no translation
graph, node, scope        the walk over nodes, and what a translator sees of one
build                     typed expressions, one operator call at a time
operators                 the translators, by family, and the table of them
control, functions        branches, loops (open_loop), functions of the file
symbolic, open_sizes      sizes that only a run knows
tensor, types, json_text  tensors, element types, and models in JSON
"""
