"""Networks by their weights, whose derivatives are known exactly."""
