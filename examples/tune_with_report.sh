#!/bin/sh
# Tune a model and look at it from all sides. TRIALS and MODEL may be set; onnxruntime, jinja2 and
# matplotlib are extras: pip install 'relay-tune[report]' onnxruntime.
set -e
model=${MODEL:-zoo:mlp}

tune run "$model" --log tuning.db --trials "${TRIALS:-64}" --minutes "${MINUTES:-1}" -o model.so
tune bench "$model" --log tuning.db --against onnxruntime   # faster? by how much, and how sure?
tune profile "$model" --log tuning.db --trace trace.json    # where the time goes; a timeline
tune report tuning.db -o report.html                        # a page to look at
