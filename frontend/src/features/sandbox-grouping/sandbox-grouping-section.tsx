import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import {
  GROUPING_STRATEGIES,
  sandboxGroupingQuery,
  useSetSandboxGrouping,
  type GroupingStrategy,
} from '@/api/sandbox-grouping'
import { Card } from '@/ui/card'
import { ErrorState } from '@/ui/error-state'
import { Notice } from '@/ui/notice'
import { SectionHeader } from '@/ui/section-header'
import { SkeletonList } from '@/ui/skeleton'

/** Whether new conversations share sandboxes, and what that costs and saves. */
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
          <Card>
            <fieldset className="divide-y divide-border" aria-label={t('sandbox_grouping.title')}>
              {GROUPING_STRATEGIES.map((strategy) => (
                <Choice
                  key={strategy}
                  strategy={strategy}
                  isChosen={strategy === chosen}
                  onChoose={() => save.mutate(strategy)}
                />
              ))}
            </fieldset>
          </Card>
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

interface ChoiceProps {
  strategy: GroupingStrategy
  isChosen: boolean
  onChoose: () => void
}

function Choice({ strategy, isChosen, onChoose }: ChoiceProps) {
  const { t } = useTranslation()
  const id = useId()
  return (
    <div className="flex items-start gap-3 px-4 py-3">
      <input
        id={id}
        type="radio"
        name="sandbox-grouping"
        checked={isChosen}
        onChange={onChoose}
        aria-describedby={`${id}-hint`}
        className="mt-1 size-4 shrink-0 accent-accent"
      />
      <div>
        <label htmlFor={id} className="block cursor-pointer font-medium">
          {t(`sandbox_grouping.${strategy}`)}
        </label>
        <p id={`${id}-hint`} className="text-sm text-muted">
          {t(`sandbox_grouping.${strategy}_hint`)}
        </p>
      </div>
    </div>
  )
}
