"""Several organisations in one installation. People of one organisation cannot see the data of other
organisations.
"""
