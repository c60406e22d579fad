import type { TFunction } from 'i18next'

/** The name of a conversation, the same wherever it is shown. */
export function conversationTitle(t: TFunction, { title }: { title?: string | null }): string {
  return title || t('conversations.untitled')
}
