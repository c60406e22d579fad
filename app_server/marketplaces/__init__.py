"""Marketplaces: git repositories that list plugins and skills. New conversations can load these plugins and
skills.
"""
