"""The catalogue of skills that users can install: skills of the product and of registered repositories."""
