import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  type Trigger,
  type TriggerWithSecret,
  useDeleteTrigger,
  useRotateTriggerSecret,
} from '@/api/automation/triggers'
import { formatAge } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { EditTrigger } from './edit-trigger'
import { TriggerDeliveries } from './trigger-deliveries'

export interface TriggerRowProps {
  trigger: Trigger
  onSecret: (trigger: TriggerWithSecret) => void
}

export function TriggerRow({ trigger, onSecret }: TriggerRowProps) {
  const { t } = useTranslation()
  const [isOpen, setOpen] = useState(false)
  const [isEdited, setEdited] = useState(false)
  const [question, setQuestion] = useState<'rotate' | 'delete' | null>(null)
  const remove = useDeleteTrigger()
  const rotate = useRotateTriggerSecret()
  const name = trigger.repository
  const close = () => setQuestion(null)

  function handleRotate() {
    rotate.mutate(trigger.id, {
      onSuccess: (changed) => {
        close()
        onSecret(changed)
      },
    })
  }

  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-60">
          <p className="font-medium wrap-anywhere">{name}</p>
          <p className="text-xs wrap-anywhere text-muted">{useFacts(trigger)}</p>
          <p className="mt-1 font-mono text-xs wrap-anywhere text-muted">{trigger.url}</p>
        </div>
        <div className="flex flex-wrap gap-2">
          <Button
            size="sm"
            aria-expanded={isOpen}
            aria-label={t('triggers.deliveries_named', { name })}
            onClick={() => setOpen(!isOpen)}
          >
            {t('triggers.deliveries')}
          </Button>
          <Button
            size="sm"
            aria-expanded={isEdited}
            aria-label={t('triggers.edit_named', { name })}
            onClick={() => setEdited(!isEdited)}
          >
            {t('triggers.edit')}
          </Button>
          <Button
            size="sm"
            aria-label={t('triggers.rotate_named', { name })}
            onClick={() => setQuestion('rotate')}
          >
            {t('triggers.rotate')}
          </Button>
          <Button
            size="sm"
            aria-label={t('triggers.delete_named', { name })}
            onClick={() => setQuestion('delete')}
          >
            {t('action.delete')}
          </Button>
        </div>
      </div>
      {isEdited && <EditTrigger trigger={trigger} onClose={() => setEdited(false)} />}
      {isOpen && <TriggerDeliveries trigger={trigger} />}
      <ConfirmDialog
        isOpen={question === 'delete'}
        onOpenChange={close}
        title={t('triggers.delete_title', { name })}
        description={t('triggers.delete_text')}
        confirmLabel={t('action.delete')}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate(trigger.id, { onSuccess: close })}
      />
      <ConfirmDialog
        isOpen={question === 'rotate'}
        onOpenChange={close}
        title={t('triggers.rotate_title', { name })}
        description={t('triggers.rotate_text')}
        confirmLabel={t('triggers.rotate')}
        isBusy={rotate.isPending}
        onConfirm={handleRotate}
      />
    </li>
  )
}

function useFacts(trigger: Trigger): string {
  const { t } = useTranslation()
  const words = {
    label: t('triggers.short_label', { word: trigger.label }),
    mention: `@${trigger.mention}`,
    assignment: t('triggers.short_assignment'),
    review_comment: t('triggers.short_review_comment'),
    failing_check: t('triggers.short_failing_check'),
    push: t('triggers.short_push'),
  }
  return [
    trigger.host,
    ...trigger.events.map((event) => words[event]),
    trigger.last_delivery_at
      ? t('triggers.last_delivery', { age: formatAge(trigger.last_delivery_at) })
      : t('triggers.never_called'),
  ].join(' · ')
}
