import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { MODEL_KEY_HOURS, modelKeyQuery, useCreateModelKey, useRevokeModelKey } from '@/api/models/model-keys'
import type { AppConversation } from '@/api/types'
import { formatDateTime } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { CopyDialog } from '@/ui/overlay/copy-dialog'
import { Dialog, DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Select } from '@/ui/form/select'

const USUAL_HOURS = 8

export interface ModelKeyDialogProps {
  conversation: AppConversation
  onClose: () => void
}

/** Allows programs in the sandbox to call the conversation's model, or stops allowing it. */
export function ModelKeyDialog({ conversation, onClose }: ModelKeyDialogProps) {
  const { t } = useTranslation()
  const state = useQuery(modelKeyQuery(conversation.id))
  const create = useCreateModelKey(conversation.id)
  const revoke = useRevokeModelKey(conversation.id)
  const [hours, setHours] = useState(USUAL_HOURS)
  if (create.data) {
    return (
      <CopyDialog
        title={t('model_key.show_title')}
        description={t('model_key.show_text')}
        value={create.data.shell}
        label={t('model_key.shell')}
        copyLabel={t('model_key.copy')}
        onClose={onClose}
      />
    )
  }
  const until = state.data?.expires_at
  return (
    <Dialog isOpen onOpenChange={onClose} title={t('model_key.title')} description={t('model_key.text')}>
      {state.isError && (
        <ErrorState
          error={state.error}
          title={t('model_key.load_failed')}
          onRetry={() => void state.refetch()}
        />
      )}
      {state.isSuccess && (
        <>
          <p className="mb-4 text-sm" role="status">
            {until ? t('model_key.valid_until', { time: formatDateTime(until) }) : t('model_key.none')}
          </p>
          <Field label={t('model_key.hours')}>
            {(control) => (
              <Select {...control} value={hours} onChange={(event) => setHours(Number(event.target.value))}>
                {MODEL_KEY_HOURS.map((each) => (
                  <option key={each} value={each}>
                    {t(`model_key.hours_${each}`)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        </>
      )}
      <DialogActions>
        {until && (
          <Button variant="danger" isBusy={revoke.isPending} onClick={() => revoke.mutate()}>
            {t('model_key.revoke')}
          </Button>
        )}
        <Button
          variant="primary"
          disabled={!state.isSuccess}
          isBusy={create.isPending}
          onClick={() => create.mutate(hours)}
        >
          {t(until ? 'model_key.replace' : 'model_key.create')}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
