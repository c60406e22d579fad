import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { confirmationQuery, useSetConfirmationMode } from '@/api/confirmation'
import { CONFIRMATION_MODES, type ConfirmationMode } from '@/api/types'
import { Card } from '@/ui/card'
import { ErrorState } from '@/ui/error-state'
import { SectionHeader } from '@/ui/section-header'
import { SkeletonList } from '@/ui/skeleton'

/** Whether agents ask before they act: the choice for tasks that do not say otherwise. */
export function ConfirmationSection() {
  const { t } = useTranslation()
  const query = useQuery(confirmationQuery())
  const save = useSetConfirmationMode()
  const chosen = (save.isPending ? save.variables : query.data?.mode) ?? null
  return (
    <section aria-label={t('confirmation_mode.title')}>
      <SectionHeader title={t('confirmation_mode.title')} lead={t('confirmation_mode.lead')} />
      {query.isPending && <SkeletonList rows={3} label={t('confirmation_mode.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          <fieldset className="divide-y divide-border" aria-label={t('confirmation_mode.title')}>
            {[null, ...CONFIRMATION_MODES].map((mode) => (
              <Choice
                key={mode ?? 'default'}
                mode={mode}
                defaultMode={query.data.default_mode}
                isChosen={mode === chosen}
                onChoose={() => save.mutate(mode)}
              />
            ))}
          </fieldset>
        </Card>
      )}
    </section>
  )
}

interface ChoiceProps {
  mode: ConfirmationMode | null
  defaultMode: ConfirmationMode
  isChosen: boolean
  onChoose: () => void
}

function Choice({ mode, defaultMode, isChosen, onChoose }: ChoiceProps) {
  const { t } = useTranslation()
  const id = useId()
  const hint = mode
    ? t(`confirmation_mode.${mode}_hint`)
    : t('confirmation_mode.default_hint', { mode: t(`confirmation_mode.${defaultMode}`) })
  return (
    <div className="flex items-start gap-3 px-4 py-3">
      <input
        id={id}
        type="radio"
        name="confirmation-mode"
        checked={isChosen}
        onChange={onChoose}
        aria-describedby={`${id}-hint`}
        className="mt-1 size-4 shrink-0 accent-accent"
      />
      <div>
        <label htmlFor={id} className="block cursor-pointer font-medium">
          {t(`confirmation_mode.${mode ?? 'default'}`)}
        </label>
        <p id={`${id}-hint`} className="text-sm text-muted">
          {hint}
        </p>
      </div>
    </div>
  )
}
