import type { AppConversation } from '@/api/types'

/** `directory`: null for the first repository, which is the working directory; the others lie beside it. */
export interface ConversationRepository {
  directory: string | null
  name: string
}

/** The repositories of a conversation, the first one first. */
export function repositoriesOf(conversation: AppConversation | null): ConversationRepository[] {
  const more = conversation?.more_repositories ?? []
  return [
    { directory: null, name: conversation?.selected_repository ?? '' },
    ...more.map(({ directory, repository }) => ({ directory, name: repository })),
  ]
}
