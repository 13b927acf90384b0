"""What a nest with its choices costs, without running it; `estimate` adds the parts up."""
