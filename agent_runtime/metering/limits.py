"""The sentences with which a gateway says that a user's limit is reached. The runtime recognizes them.

OpenAI's protocol has no code for this that all clients pass on, but every client passes on the text of an
error.
"""

BUDGET_REACHED = "MaxBudgetReached"
"""The code of the ConversationErrorEvent that pauses a run when the conversation's budget is spent."""

ADMINISTRATOR_LIMIT_REACHED = "AdministratorLimitReached"
"""The code of the same event for a limit that only an administrator can change."""

CONVERSATION_LIMIT_WORDS = "The budget of this conversation is spent"
USER_LIMIT_WORDS = "Your spending limit is reached"
ADMINISTRATOR_LIMIT_WORDS = "The spending limit that your administrator has set is reached"
