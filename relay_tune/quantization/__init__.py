"""Quantized networks from float ones: calibration on the machine, and what it costs in accuracy.

calibration_data   samples: arrays, files, folders, checked against the inputs of a model
prepared           the network in the form that is quantized
histogram          the distribution of a tensor that grows as it is seen
ranges             what a histogram says should be stored: min/max, percentile, entropy, MSE
collect            runs a network on samples and shows each annotated tensor to a histogram
simulation         a network whose scales and precisions are inputs
calibrated         a network with ranges: what any choice of layers becomes, and loses
choose             which method and which layers, by the error of the outputs
quantize           all of that: `rt.quantize`
"""
