import { ChevronDown } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useQuery } from '@tanstack/react-query'
import { useSwitchProfile } from '@/api/conversations/steering'
import { callableProfiles, profilesQuery } from '@/api/models/profiles'
import type { AppConversation } from '@/api/types'
import { Badge } from '@/ui/feedback/badge'
import { DropdownMenu, MenuRadioGroup } from '@/ui/overlay/dropdown-menu'

/** Shows which model the agent uses, and lets the user choose another one, also while the agent works. */
export function ModelMenu({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const profiles = useQuery({ ...profilesQuery(), select: callableProfiles }).data ?? []
  const change = useSwitchProfile(conversation.id)
  const name = conversation.llm_profile ?? conversation.llm_model
  if (!name) return null
  const canChange = conversation.sandbox_status === 'RUNNING' && profiles.some((each) => each.name !== name)
  return (
    <span className="flex items-center gap-1.5" title={conversation.llm_model ?? undefined}>
      {canChange ? (
        <DropdownMenu
          align="start"
          trigger={
            <button
              type="button"
              aria-label={t('chat.model_change', { name })}
              disabled={change.isPending}
              className="-mx-1 flex items-center gap-1 rounded px-1 hover:bg-hover hover:text-text disabled:opacity-50"
            >
              {name}
              <ChevronDown aria-hidden className="size-3" />
            </button>
          }
        >
          <MenuRadioGroup
            label={t('chat.model_next')}
            value={name}
            options={profiles.map((each) => ({ value: each.name, label: each.name }))}
            onValueChange={(next) => change.mutate(next)}
          />
        </DropdownMenu>
      ) : (
        name
      )}
      {profiles.some((each) => each.name === name && each.is_recording) && (
        <span title={t('chat.recording_hint')}>
          <Badge tone="warning">{t('chat.recording')}</Badge>
        </span>
      )}
    </span>
  )
}
