"""The words by which a gateway says that a limit of the user's own is reached, and the runtime hears it.

OpenAI's protocol has no code for it that all clients pass on; the text of an error always arrives.
"""

BUDGET_REACHED = "MaxBudgetReached"
"""The code of the ConversationErrorEvent that pauses a run when the conversation's budget is spent."""

ADMINISTRATOR_LIMIT_REACHED = "AdministratorLimitReached"
"""The same, when it is a limit that only an administrator can change."""

CONVERSATION_LIMIT_WORDS = "The budget of this conversation is spent"
USER_LIMIT_WORDS = "Your spending limit is reached"
ADMINISTRATOR_LIMIT_WORDS = "The spending limit that your administrator has set is reached"
