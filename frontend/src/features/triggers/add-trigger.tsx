import { Plus } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { type TriggerWithSecret, useAddTrigger } from '@/api/automation/triggers'
import { Button } from '@/ui/form/button'
import { TriggerForm } from './trigger-form'

export function AddTrigger({ onAdded }: { onAdded: (added: TriggerWithSecret) => void }) {
  const { t } = useTranslation()
  const add = useAddTrigger()
  return (
    <div className="mb-5">
      <TriggerForm
        trigger={null}
        error={add.error}
        errorTitle={t('triggers.add_failed')}
        onSubmit={(repository, fields, done) =>
          add.mutate(
            { repository, ...fields },
            {
              onSuccess: (added) => {
                done()
                onAdded(added)
              },
            },
          )
        }
      >
        <Button type="submit" variant="primary" icon={<Plus className="size-4" />} isBusy={add.isPending}>
          {t('triggers.add')}
        </Button>
      </TriggerForm>
    </div>
  )
}
