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
 * What a list of conversations shows. `words`: of the title, or of one message. `shared`: those of others
 * (true), the user's own (false), or both. `repository`: a part of its name. `status`: of the agent. `tag`:
 * `key`, or `key:value`. `archived`: those that were put aside (true), the others (false, also if left out), or
 * both (null). `model`, `branch`: the whole name. `createdFrom`, `createdBefore`: times in ISO 8601.
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
