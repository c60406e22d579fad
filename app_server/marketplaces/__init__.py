"""Marketplaces: git repositories that list plugins and skills."""
