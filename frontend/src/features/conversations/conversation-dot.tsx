import { useTranslation } from 'react-i18next'
import { conversationPhase, type ConversationPhase } from '@/api/conversation-phase'
import type { AppConversation } from '@/api/types'
import type { Tone } from '@/ui/badge'
import { StatusDot } from '@/ui/status-dot'

const TONES: Record<ConversationPhase, Tone> = {
  starting: 'warning',
  failed: 'danger',
  stuck: 'warning',
  working: 'accent',
  waiting: 'warning',
  paused: 'neutral',
  ready: 'success',
  finished: 'success',
  asleep: 'neutral',
  archived: 'neutral',
}

export function PhaseDot({ conversation }: { conversation: AppConversation }) {
  const { t } = useTranslation()
  const phase = conversationPhase(conversation)
  return (
    <StatusDot
      tone={TONES[phase]}
      label={t(`phase.${phase}`)}
      isActive={phase === 'working' || phase === 'starting' || phase === 'waiting'}
    />
  )
}
