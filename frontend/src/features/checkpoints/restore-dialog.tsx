import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { checkpointsQuery } from '@/api/conversations/checkpoints'
import type { Checkpoint, CheckpointList } from '@/api/conversations/checkpoint-types'
import { formatDateTime } from '@/lib/text/time'
import { Dialog } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SkeletonList } from '@/ui/feedback/skeleton'
import type { RestoreTarget } from './restore-provider'
import { RestoreForm } from './restore-form'

export interface RestoreDialogProps {
  conversationId: string
  target: RestoreTarget
  renderPatch: (patch: string) => ReactNode
  onClose: () => void
}

/** Shows which changes a rewind would undo, and starts the rewind. */
export function RestoreDialog({ conversationId, target, renderPatch, onClose }: RestoreDialogProps) {
  const { t } = useTranslation()
  const list = useQuery(checkpointsQuery(conversationId))
  const checkpoint = list.data && find(list.data, target)
  return (
    <Dialog
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={t('checkpoints.dialog_title')}
      description={lead()}
      className="max-w-3xl!"
    >
      {list.isFetching && <SkeletonList rows={3} label={t('checkpoints.loading')} />}
      {list.isError && <ErrorState error={list.error} onRetry={() => void list.refetch()} />}
      {!list.isFetching && list.data && !checkpoint && (
        <Notice tone="warning" title={t('checkpoints.missing')}>
          {list.data.unavailable?.['detail'] ?? t('checkpoints.missing_hint')}
        </Notice>
      )}
      {!list.isFetching && checkpoint && (
        <RestoreForm
          conversationId={conversationId}
          checkpoint={checkpoint}
          returnsMessage={target.onChatRestored !== undefined}
          renderPatch={renderPatch}
          onRestored={(hasChat) => {
            if (hasChat) target.onChatRestored?.()
            onClose()
          }}
        />
      )}
    </Dialog>
  )

  function lead() {
    if (target.text) return t('checkpoints.lead_message', { text: shortened(target.text) })
    return checkpoint && t('checkpoints.lead_time', { time: formatDateTime(checkpoint.created_at) })
  }
}

function find(
  { checkpoints }: CheckpointList,
  { checkpoint, eventId }: RestoreTarget,
): Checkpoint | undefined {
  return checkpoints.findLast((one) =>
    checkpoint === undefined ? one.event_id === eventId : one.id === checkpoint,
  )
}

const LEAD_CHARACTERS = 120

function shortened(text: string): string {
  return text.length > LEAD_CHARACTERS ? `${text.slice(0, LEAD_CHARACTERS)}…` : text
}
