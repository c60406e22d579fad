import { useState, type SubmitEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { SPENDING_PERIODS, type LimitPerPeriod, type SpendingPeriod } from '@/api/models/spending'
import { parseDollars } from '@/lib/text/dollars'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'

interface LimitFormProps {
  /** The stored limit. The form starts with its values. */
  limit: LimitPerPeriod
  label: string
  periodLabel: string
  action: string
  save: {
    mutate: (limit: LimitPerPeriod, options: { onSuccess: () => void }) => void
    isPending: boolean
    error: Error | null
  }
}

/** The form for an amount per day or per month. An empty amount means no limit. */
export function LimitForm({ limit, label, periodLabel, action, save }: LimitFormProps) {
  const { t } = useTranslation()
  const [amount, setAmount] = useState(limit.limit?.toString() ?? '')
  const [period, setPeriod] = useState<SpendingPeriod>(limit.period)
  const isValid = /^(\d+([.,]\d+)?)?$/.test(amount.trim())

  function handleSubmit(event: SubmitEvent) {
    event.preventDefault()
    if (!isValid) return
    save.mutate(
      { limit: parseDollars(amount), period },
      { onSuccess: () => toast.success(t('spending.saved')) },
    )
  }

  return (
    <form onSubmit={handleSubmit} noValidate className="mt-4 flex flex-wrap items-start gap-3">
      <div className="min-w-40 flex-1 basis-full sm:basis-0">
        <Field
          label={label}
          note={t('home.optional')}
          error={isValid ? undefined : t('models.budget_invalid')}
        >
          {(control) => (
            <Input
              {...control}
              inputMode="decimal"
              value={amount}
              onChange={(event) => setAmount(event.target.value)}
            />
          )}
        </Field>
      </div>
      <div className="min-w-36">
        <Field label={periodLabel}>
          {(control) => (
            <Select
              {...control}
              value={period}
              onChange={(event) => setPeriod(event.target.value as SpendingPeriod)}
            >
              {SPENDING_PERIODS.map((each) => (
                <option key={each} value={each}>
                  {t(`spending.${each}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <Button type="submit" isBusy={save.isPending} className="mt-6.5">
        {action}
      </Button>
      {save.error && <ErrorState error={save.error} title={t('spending.save_failed')} />}
    </form>
  )
}
