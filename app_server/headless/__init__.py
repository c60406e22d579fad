"""The main job without a browser: `slipway run` and `slipway demo`, through the public API alone."""
