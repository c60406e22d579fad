import type { AppConversation } from '@/api/types'

/**
 * A repository of a conversation. `directory` is null for the first repository, which is the working
 * directory. The other repositories are next to it.
 */
export interface ConversationRepository {
  directory: string | null
  name: string
}

/** Returns the repositories of a conversation, in order. */
export function repositoriesOf(conversation: AppConversation | null): ConversationRepository[] {
  const more = conversation?.more_repositories ?? []
  return [
    { directory: null, name: conversation?.selected_repository ?? '' },
    ...more.map(({ directory, repository }) => ({ directory, name: repository })),
  ]
}
