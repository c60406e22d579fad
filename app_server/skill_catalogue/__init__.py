"""Offers skills of the product and of registered repositories, and installs them."""
