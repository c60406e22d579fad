export const conversationKeys = {
  all: ['conversations'] as const,
  lists: ['conversations', 'list'] as const,
  list: (search: ConversationSearch) => ['conversations', 'list', search] as const,
  tags: ['conversations', 'tags'] as const,
  filterChoices: ['conversations', 'filter-choices'] as const,
  inSandboxes: ['conversations', 'sandbox'] as const,
  inSandbox: (sandboxId: string) => ['conversations', 'sandbox', sandboxId] as const,
  detail: (id: string) => ['conversations', 'detail', id] as const,
}

/**
 * The filters of a list of conversations. `words` are words of the title, or of one message. `shared` selects
 * conversations that others share with the user (true), the user's conversations (false), or both.
 * `repository` is a part of the repository's name. `status` is the status of the agent. `tag` is `key`, or
 * `key:value`. `archived` selects archived conversations (true), conversations that are not archived (false,
 * also if left out), or both (null). `model` and `branch` are whole names. `createdFrom` and `createdBefore`
 * are times in ISO 8601.
 */
export interface ConversationSearch {
  words?: string
  shared?: boolean | null
  repository?: string
  status?: string
  tag?: string
  archived?: boolean | null
  model?: string
  branch?: string
  ownerId?: string
  createdFrom?: string
  createdBefore?: string
}
