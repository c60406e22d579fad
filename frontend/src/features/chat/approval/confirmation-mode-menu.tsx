import { useQuery } from '@tanstack/react-query'
import { ChevronDown, ShieldCheck } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { conversationModeQuery, useSetConversationMode } from '@/api/approval/confirmation'
import { CONFIRMATION_MODES, type AppConversation } from '@/api/types'
import { useConversation } from '@/events/use-conversation'
import { DropdownMenu, MenuRadioGroup } from '@/ui/overlay/dropdown-menu'

/**
 * Shows the confirmation mode, which says when the agent asks before it acts. The user can change it while
 * the agent works.
 */
export function ConfirmationModeMenu({ conversation }: { conversation: AppConversation }) {
  const { id, sandbox_status, start_status } = conversation
  const { t } = useTranslation()
  const changeSeq = useConversation((state) => state.view.confirmationModeChangedSeq)
  // Only the agent server knows the mode, and only after it has created the conversation.
  const canTell = start_status === 'READY' && sandbox_status === 'RUNNING'
  const query = useQuery({ ...conversationModeQuery(id, changeSeq), enabled: canTell })
  const change = useSetConversationMode(id)
  if (!canTell || !query.data) return null
  const name = t(`confirmation_mode.${query.data.mode ?? 'own'}`)
  return (
    <DropdownMenu
      align="start"
      trigger={
        <button
          type="button"
          aria-label={t('confirmation_mode.change', { mode: name })}
          disabled={change.isPending}
          className="-mx-1 flex items-center gap-1 rounded px-1 hover:bg-hover hover:text-text disabled:opacity-50"
        >
          <ShieldCheck aria-hidden className="size-3.5 shrink-0" />
          {name}
          <ChevronDown aria-hidden className="size-3" />
        </button>
      }
    >
      <MenuRadioGroup
        label={t('confirmation_mode.next')}
        value={query.data.mode ?? ''}
        options={CONFIRMATION_MODES.map((mode) => ({ value: mode, label: t(`confirmation_mode.${mode}`) }))}
        onValueChange={(mode) => mode !== '' && change.mutate(mode)}
      />
    </DropdownMenu>
  )
}
