import { useTranslation } from 'react-i18next'
import { type Trigger, useChangeTrigger } from '@/api/automation/triggers'
import { Button } from '@/ui/form/button'
import { TriggerForm } from './trigger-form'

export function EditTrigger({ trigger, onClose }: { trigger: Trigger; onClose: () => void }) {
  const { t } = useTranslation()
  const change = useChangeTrigger(trigger.id)
  return (
    <section
      aria-label={t('triggers.edit_named', { name: trigger.repository })}
      className="mt-3 border-t border-border pt-3"
    >
      <TriggerForm
        trigger={trigger}
        error={change.error}
        errorTitle={t('triggers.change_failed')}
        onSubmit={(_repository, fields) => change.mutate(fields, { onSuccess: onClose })}
      >
        <Button type="submit" variant="primary" isBusy={change.isPending}>
          {t('triggers.save')}
        </Button>
        <Button onClick={onClose}>{t('action.cancel')}</Button>
      </TriggerForm>
    </section>
  )
}
