"""The measurements of the benchmark. Each module has a function `measure`. It takes a Kit (the product to
measure, a directory and a scripted model) and yields Figures (the results). `figures.GOALS` contains goals
for some of the results, by the name of the Figure.
"""
