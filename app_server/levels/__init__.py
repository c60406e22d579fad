"""Settings that can have values at three levels: the organisation, its teams and single users. One rule
decides which of these values applies to a user.
"""
