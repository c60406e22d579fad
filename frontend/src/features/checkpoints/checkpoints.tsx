import { useQuery } from '@tanstack/react-query'
import { useId, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { checkpointsQuery } from '@/api/conversations/checkpoints'
import type { Checkpoint } from '@/api/conversations/checkpoint-types'
import { eventIs } from '@/events/wire/types'
import { useConversation } from '@/events/use-conversation'
import { formatDateTime } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { useAskToRestore } from './restore-provider'

export interface CheckpointsProps {
  conversationId: string
  onChosen: () => void
}

/** All checkpoints to which the user can go back, the newest first. */
export function Checkpoints({ conversationId, onChosen }: CheckpointsProps) {
  const { t } = useTranslation()
  const query = useQuery(checkpointsQuery(conversationId))
  const ask = useAskToRestore()
  const messages = useMessages()
  if (query.isPending) return <SkeletonList rows={4} label={t('checkpoints.loading')} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const { checkpoints, unavailable } = query.data
  return (
    <div className="flex flex-col gap-3">
      {unavailable && (
        <Notice tone="warning" title={t('checkpoints.unavailable')}>
          {unavailable['detail']}
        </Notice>
      )}
      {checkpoints.length === 0 && <p className="text-sm text-muted">{t('checkpoints.none')}</p>}
      <ul className="flex max-h-[60dvh] flex-col divide-y divide-border overflow-y-auto">
        {checkpoints.toReversed().map((checkpoint) => (
          <Entry
            key={checkpoint.id}
            checkpoint={checkpoint}
            text={messages.get(checkpoint.event_id ?? '')}
            onChoose={() => {
              onChosen()
              ask({ checkpoint: checkpoint.id })
            }}
          />
        ))}
      </ul>
    </div>
  )
}

function Entry({
  checkpoint,
  text,
  onChoose,
}: {
  checkpoint: Checkpoint
  text: string | undefined
  onChoose: () => void
}) {
  const { t } = useTranslation()
  const titleId = useId()
  return (
    <li className="flex items-center gap-3 py-2">
      <div className="min-w-0 flex-1 text-sm">
        <p id={titleId} className="line-clamp-3 wrap-anywhere">
          {t(`checkpoints.kind.${checkpoint.kind}`)}
          {text && <span className="text-muted"> “{text}”</span>}
        </p>
        <p className="text-xs text-muted">{formatDateTime(checkpoint.created_at)}</p>
      </div>
      <Button size="sm" aria-describedby={titleId} onClick={onChoose}>
        {t('checkpoints.restore')}
      </Button>
    </li>
  )
}

/**
 * Returns the texts of the user's messages, by the id of the event. They include messages of old branches
 * that were left by going back.
 */
function useMessages(): Map<string, string> {
  const history = useConversation((state) => state.view.history)
  return useMemo(
    () =>
      new Map(
        history.flatMap(({ event }) =>
          eventIs(event, 'MessageEvent') && event.source === 'user'
            ? [
                [
                  event.id,
                  event.llm_message.content.map((part) => ('text' in part ? part.text : '')).join(' '),
                ],
              ]
            : [],
        ),
      ),
    [history],
  )
}
