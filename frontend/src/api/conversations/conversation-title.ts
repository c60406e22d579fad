import type { TFunction } from 'i18next'

/** Returns the displayed name of a conversation. All pages show the same name. */
export function conversationTitle(t: TFunction, { title }: { title?: string | null }): string {
  return title || t('conversations.untitled')
}
