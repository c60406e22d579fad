"""Contains the error texts with which the app server's model gateway reports that a user's spending limit is
reached. The agent runtime recognizes these texts.

The runtime compares the texts and not error codes, because some client libraries of OpenAI's protocol do not
pass on the code of an error, but all pass on its text.
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
