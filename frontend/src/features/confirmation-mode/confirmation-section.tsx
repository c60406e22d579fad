import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { confirmationQuery, useSetConfirmationMode } from '@/api/approval/confirmation'
import { CONFIRMATION_MODES } from '@/api/types'
import { ChoiceList } from '@/ui/form/choice-list'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'

/**
 * The setting that decides whether agents ask before they act. It applies to tasks without a confirmation
 * mode.
 */
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
        <ChoiceList
          label={t('confirmation_mode.title')}
          choices={[
            {
              value: null,
              label: t('confirmation_mode.default'),
              hint: t('confirmation_mode.default_hint', {
                mode: t(`confirmation_mode.${query.data.default_mode}`),
              }),
            },
            ...CONFIRMATION_MODES.map((mode) => ({
              value: mode,
              label: t(`confirmation_mode.${mode}`),
              hint: t(`confirmation_mode.${mode}_hint`),
            })),
          ]}
          chosen={chosen}
          onChoose={(mode) => save.mutate(mode)}
        />
      )}
    </section>
  )
}
