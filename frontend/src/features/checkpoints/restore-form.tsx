import { useQuery } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { checkpointDiffQuery, useRewind } from '@/api/conversations/checkpoints'
import type { Checkpoint } from '@/api/conversations/checkpoint-types'
import { agentStatus } from '@/events/status'
import { useConversation } from '@/events/use-conversation'
import { Button } from '@/ui/form/button'
import { DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { Segmented } from '@/ui/form/segmented'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { EditedFiles } from './edited-files'
import { UndoneChanges } from './undone-changes'

const CHOICES = ['both', 'files', 'chat'] as const

export interface RestoreFormProps {
  conversationId: string
  checkpoint: Checkpoint
  /** Whether the message is put back into the composer when the chat goes back. */
  returnsMessage: boolean
  renderPatch: (patch: string) => ReactNode
  onRestored: (hasChat: boolean) => void
}

export function RestoreForm({
  conversationId,
  checkpoint,
  returnsMessage,
  renderPatch,
  onRestored,
}: RestoreFormProps) {
  const { t } = useTranslation()
  const [choice, setChoice] = useState<(typeof CHOICES)[number]>('both')
  const [keepsEdits, setKeepsEdits] = useState(false)
  const diff = useQuery(checkpointDiffQuery(conversationId, checkpoint.id))
  const rewind = useRewind(conversationId)
  const isRunning = useConversation((state) => agentStatus(state) === 'running')
  const scope = { files: choice !== 'chat', chat: choice !== 'files' }
  const inTheWay = scope.files ? [...(diff.data?.edited ?? []), ...(diff.data?.blocked ?? [])] : []
  const isKnown = !scope.files || diff.data !== undefined

  function handleRestore() {
    rewind.mutate(
      { checkpoint: checkpoint.id, ...scope, on_edits: keepsEdits ? 'keep' : 'refuse' },
      { onSuccess: () => onRestored(scope.chat), onError: () => void diff.refetch() },
    )
  }

  return (
    <div className="flex flex-col gap-4">
      <Segmented
        label={t('checkpoints.what')}
        value={choice}
        onValueChange={setChoice}
        options={CHOICES.map((value) => ({ value, label: t(`checkpoints.choice.${value}`) }))}
      />
      {scope.files && diff.isPending && <SkeletonList rows={3} label={t('checkpoints.loading')} />}
      {scope.files && diff.isError && <ErrorState error={diff.error} onRetry={() => void diff.refetch()} />}
      {scope.files && diff.data && <UndoneChanges diff={diff.data} renderPatch={renderPatch} />}
      {inTheWay.length > 0 && (
        <EditedFiles paths={inTheWay} isKept={keepsEdits} onKeptChange={setKeepsEdits} />
      )}
      {scope.files && checkpoint.skipped.length > 0 && (
        <p className="text-sm wrap-anywhere text-muted">
          {t('checkpoints.skipped')}{' '}
          <span className="font-mono text-xs">{checkpoint.skipped.join(', ')}</span>
        </p>
      )}
      <p className="text-sm text-muted">
        {scope.chat &&
          t(checkpoint.kind === 'rewind' ? 'checkpoints.chat_note_undo' : 'checkpoints.chat_note')}{' '}
        {scope.chat && returnsMessage && t('checkpoints.message_note')} {t('checkpoints.undo_note')}
      </p>
      {isRunning && <Notice tone="warning" title={t('checkpoints.running')} />}
      {rewind.isError && <ErrorState error={rewind.error} title={t('checkpoints.failed')} />}
      <DialogActions>
        <Button
          variant="primary"
          isBusy={rewind.isPending}
          disabled={isRunning || !isKnown || (inTheWay.length > 0 && !keepsEdits)}
          onClick={handleRestore}
        >
          {t('checkpoints.confirm')}
        </Button>
      </DialogActions>
    </div>
  )
}
