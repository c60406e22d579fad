"""What a call of a model used, and what that costs. Known to the runtime and to the app server alike."""
