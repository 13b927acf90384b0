"""The precision of each layer of a network: as fast as possible with a bounded loss.

choice         which precision each layer has, and the space of such choices
neighbours     which layers read what others have computed, and how much each computes
pair_model     what a choice costs, learned: each layer by itself, and pairs of neighbours
ladder         choices that leave the worst layers in float32, by loss or by loss for time
trials         what measures choices; the trials of a native network are in native_trials
logged_trials  trials that a tuning log remembers
search         proposes, simulates, builds and measures until the time is over
quantize       all of that: `rt.quantize` with scheme="auto"
"""
