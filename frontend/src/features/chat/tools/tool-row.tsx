import { useTranslation } from 'react-i18next'
import { useConversation } from '@/events/use-conversation'
import { agentStatus, isClientCall } from '@/events/status'
import type { TimelineItem } from '@/events/fold/reduce'
import { CriticMark } from '../timeline/critic-mark'
import { Markdown } from '../text/markdown'
import { toolState } from './outcome'
import { pathRuleNames } from './path-rule-names'
import { Reasoning } from '../timeline/reasoning'
import { contentText } from '../timeline/rows'
import { RegisteredTool } from './registry'
import { ShortenedNote } from './shortened-note'
import { SkillBadges } from '../timeline/skill-badges'

/** An action, the agent's text before it, and its result. */
export function ToolRow({ item }: { item: Extract<TimelineItem, { type: 'tool' }> }) {
  const { t } = useTranslation()
  const thought = contentText(item.action.thought)
  const rules = item.outcome?.kind === 'ObservationEvent' ? pathRuleNames(item.outcome.extended_content) : []
  return (
    <div>
      <Reasoning text={item.action.reasoning_content} />
      {thought !== '' && (
        <div className="mb-2">
          <Markdown text={thought} />
        </div>
      )}
      <Tool item={item} />
      <ShortenedNote eventId={item.outcome?.id} />
      <CriticMark result={item.action.critic_result} />
      {rules.length > 0 && (
        <p className="mt-1.5 flex flex-wrap gap-1">
          <SkillBadges label={t('chat.rules_given')} names={rules} />
        </p>
      )}
    </div>
  )
}

function Tool({ item }: { item: Extract<TimelineItem, { type: 'tool' }> }) {
  const isAgentRunning = useConversation((state) => agentStatus(state) === 'running')
  const isWaiting = useConversation((state) => agentStatus(state) === 'waiting_for_confirmation')
  const { action: event, outcome } = item
  const { action } = event
  const answered = isWaiting && outcome === null ? 'waiting' : toolState(outcome, isAgentRunning)
  const state = answered === 'running' && isClientCall(event) ? 'waiting_for_client' : answered
  return <RegisteredTool event={event} outcome={outcome} state={state} action={action ?? null} />
}
