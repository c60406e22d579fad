"""What is measured. Each takes a kit and yields figures; their names are those of `figures.GOALS`."""
