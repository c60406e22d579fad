"""The measurements. Each takes a Kit and yields Figures. `figures.GOALS` contains the goals for some of the
Figures, by name.
"""
