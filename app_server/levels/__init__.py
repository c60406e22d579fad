"""Settings that can have values at three levels: the organisation, its teams and single users. The module
`resolution` decides which of these values applies to a user.
"""
