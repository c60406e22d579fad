import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import {
  GROUPING_STRATEGIES,
  sandboxGroupingQuery,
  useSetSandboxGrouping,
} from '@/api/sandboxes/sandbox-grouping'
import { ChoiceList } from '@/ui/form/choice-list'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'

/**
 * The setting that decides whether new conversations share sandboxes. It explains the advantages and
 * disadvantages.
 */
export function SandboxGroupingSection() {
  const { t } = useTranslation()
  const query = useQuery(sandboxGroupingQuery())
  const save = useSetSandboxGrouping()
  const chosen = save.isPending ? save.variables : query.data?.sandbox_grouping_strategy
  return (
    <section aria-label={t('sandbox_grouping.title')}>
      <SectionHeader title={t('sandbox_grouping.title')} lead={t('sandbox_grouping.lead')} />
      {query.isPending && <SkeletonList rows={5} label={t('sandbox_grouping.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <>
          <ChoiceList
            label={t('sandbox_grouping.title')}
            choices={GROUPING_STRATEGIES.map((strategy) => ({
              value: strategy,
              label: t(`sandbox_grouping.${strategy}`),
              hint: t(`sandbox_grouping.${strategy}_hint`),
            }))}
            chosen={chosen}
            onChoose={(strategy) => save.mutate(strategy)}
          />
          <Notice tone="neutral" className="mt-4" title={t('sandbox_grouping.trade_off')}>
            <ul className="list-disc space-y-1 pl-4">
              <li>{t('sandbox_grouping.saves')}</li>
              <li>{t('sandbox_grouping.costs')}</li>
              <li>{t('sandbox_grouping.keeps')}</li>
              <li>{t('sandbox_grouping.joins', { count: query.data.max_conversations_per_sandbox })}</li>
            </ul>
          </Notice>
        </>
      )}
    </section>
  )
}
