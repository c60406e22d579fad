"""Contains the error texts with which the app server's model gateway reports that a spending limit is
reached. The agent runtime recognizes the error by these texts. It does not use error codes, because some
client libraries of OpenAI's protocol pass on only the text of an error.
"""

BUDGET_REACHED = "MaxBudgetReached"
"""The code of the ConversationErrorEvent that is logged when the agent is paused because the conversation's
budget is spent.
"""

ADMINISTRATOR_LIMIT_REACHED = "AdministratorLimitReached"
"""The code of the ConversationErrorEvent that is logged when the agent is paused because a limit is reached
that only an administrator can change.
"""

CONVERSATION_LIMIT_WORDS = "The budget of this conversation is spent"
USER_LIMIT_WORDS = "Your spending limit is reached"
ADMINISTRATOR_LIMIT_WORDS = "The spending limit that your administrator has set is reached"
