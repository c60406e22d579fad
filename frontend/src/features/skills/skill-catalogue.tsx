import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  catalogueQuery,
  skillRepositoriesQuery,
  useReadSkillRepositories,
} from '@/api/agents/skill-catalogue'
import { currentUserQuery, administersInstallation } from '@/api/people/users'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { Button } from '@/ui/form/button'
import { Input } from '@/ui/form/input'
import { Card } from '@/ui/layout/card'
import { CatalogueRow } from './catalogue-row'

/** The skills that can be installed, and the skills that were refused. */
export function SkillCatalogue() {
  const { t } = useTranslation()
  const [words, setWords] = useState('')
  const query = useQuery(catalogueQuery(useDeferredValue(words)))
  const repositories = useQuery(skillRepositoriesQuery()).data ?? []
  const read = useReadSkillRepositories()
  const me = useQuery(currentUserQuery()).data
  const mayShare = me !== undefined && administersInstallation(me)
  const unread = repositories.filter((each) => !each.read_at)
  const refusing = repositories.filter((each) => each.problems.length > 0)
  return (
    <section aria-label={t('skills.catalogue')}>
      <h3 className="mb-3 font-semibold">{t('skills.catalogue')}</h3>
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <Input
          type="search"
          aria-label={t('skills.search')}
          placeholder={t('skills.search')}
          value={words}
          onChange={(event) => setWords(event.target.value)}
          className="w-full max-w-md"
        />
        {repositories.length > 0 && (
          <Button isBusy={read.isPending} onClick={() => read.mutate()}>
            {t('skills.read')}
          </Button>
        )}
      </div>
      <div className="mb-4 flex flex-col gap-3 empty:hidden">
        {read.isError && <ErrorState error={read.error} title={t('skills.read_failed')} />}
        {unread.map(({ marketplace }) => (
          <Notice key={marketplace} tone="neutral">
            {t('skills.never_read', { name: marketplace })}
          </Notice>
        ))}
        {refusing.map(({ marketplace, problems }) => (
          <Notice key={marketplace} tone="warning" title={t('skills.problems', { name: marketplace })}>
            <ul className="wrap-anywhere">
              {problems.map((problem) => (
                <li key={problem}>{problem}</li>
              ))}
            </ul>
          </Notice>
        ))}
      </div>
      {query.isPending && <SkeletonList rows={4} label={t('skills.loading')} className="h-16" />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && (
        <Card>
          {query.data.items.length === 0 ? (
            <p className="px-4 py-6 text-sm text-muted">{t('skills.nothing')}</p>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.items.map((skill) => (
                <CatalogueRow key={`${skill.marketplace} ${skill.path}`} skill={skill} mayShare={mayShare} />
              ))}
            </ul>
          )}
        </Card>
      )}
      {query.data?.next_page_id && (
        <p className="mt-3 text-sm text-muted">{t('skills.more', { count: query.data.items.length })}</p>
      )}
    </section>
  )
}
