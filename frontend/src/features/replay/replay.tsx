import { useCallback, useEffect, useMemo, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { createStaticStore } from '@/events/store'
import { ConversationStoreProvider, useConversation } from '@/events/use-conversation'
import type { AppConversation } from '@/api/types'
import type { ConversationView } from '@/events/fold/reduce'
import type { PositionedEvent } from '@/events/fold/rewind'
import type { ConversationEvent } from '@/events/wire/types'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { ReplayControls } from './replay-controls'
import { Folding, stepAt, stepsOf } from './steps'
import { usePlaying } from './use-playing'
import { useReplayEvents } from './use-replay-events'
import { useReplayKeys } from './use-replay-keys'

const NONE: readonly PositionedEvent[] = []

export interface ReplayProps {
  /** The position at which the replay begins. Null means the end. */
  from: number | null
  /** Returns true for events that the replay does not show as a step. */
  isHidden: (event: ConversationEvent) => boolean
  /** The conversation. Inside the replay, it is shown in its state at the chosen position. */
  children: ReactNode
  onCopyLink: (seq: number) => void
  onClose: () => void
}

/** Shows the course of the conversation, step by step. */
export function Replay({ from, isHidden, children, onCopyLink, onClose }: ReplayProps) {
  const { t } = useTranslation()
  const loaded = useReplayEvents()
  const events = loaded ?? NONE
  const conversation = useConversation((state) => state.view.conversation)
  const steps = useMemo(() => stepsOf(events, isHidden), [events, isHidden])
  const folding = useMemo(() => new Folding(events), [events])
  const [store] = useState(createStaticStore)
  const [chosen, setChosen] = useState<number | null>(null)
  const index = Math.min(chosen ?? stepAt(steps, from), Math.max(steps.length - 1, 0))
  const seq = steps[index]?.seq ?? 0
  const playing = usePlaying(steps, index, setChosen)
  const { goTo, toggle } = playing
  const stepBy = useCallback((by: number) => goTo(index + by), [goTo, index])
  useReplayKeys({
    toggle,
    stepBy,
    toStart: () => goTo(0),
    toEnd: () => goTo(steps.length - 1),
  })
  useEffect(() => {
    store.setState({ view: asItWas(folding.viewAt(seq), conversation) })
  }, [store, folding, seq, conversation])

  return (
    <section aria-label={t('replay.title')} className="flex h-full min-h-0 flex-col">
      <div className="min-h-0 flex-1">
        {loaded === null ? (
          <SkeletonList rows={4} label={t('chat.loading')} className="m-6" />
        ) : (
          <ConversationStoreProvider value={store}>{children}</ConversationStoreProvider>
        )}
      </div>
      <ReplayControls
        steps={steps}
        index={index}
        playing={playing}
        onCopyLink={() => onCopyLink(seq)}
        onClose={onClose}
      />
    </section>
  )
}

/** Returns the view with the agent's status at that position, in place of its present status. */
function asItWas(view: ConversationView, conversation: AppConversation | null): ConversationView {
  if (conversation === null) return view
  const execution_status = view.loggedStatus?.value ?? null
  return {
    ...view,
    conversation: { ...conversation, execution_status, sandbox_status: 'RUNNING', last_seq: view.lastSeq },
  }
}
