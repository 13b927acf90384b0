"""The operators of ONNX by family; `table` names the translator of each."""
