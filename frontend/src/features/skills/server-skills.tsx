import { useQuery } from '@tanstack/react-query'
import { GraduationCap } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { installedSkillsQuery, skillLoadingQuery } from '@/api/agents/skill-catalogue'
import { currentUserQuery, administersInstallation } from '@/api/people/users'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Card } from '@/ui/layout/card'
import { ServerSkillRow } from './server-skill-row'
import { SkillChoices } from './skill-choices'

/** The skills of this server, and the reason why new conversations load each of them or not. */
export function ServerSkills() {
  const { t } = useTranslation()
  const [repository, setRepository] = useState('')
  const query = useQuery(skillLoadingQuery(repository))
  const installed = useQuery(installedSkillsQuery())
  const me = useQuery(currentUserQuery()).data
  const mayShare = me !== undefined && administersInstallation(me)
  const byPath = new Map(installed.data?.map((skill) => [pathOf(skill), skill]))
  return (
    <section aria-label={t('skills.known')} className="mb-8">
      <h3 className="mb-3 font-semibold">{t('skills.known')}</h3>
      <form
        className="mb-4 max-w-md"
        onSubmit={(event) => {
          event.preventDefault()
          const typed = new FormData(event.currentTarget).get('repository')
          setRepository(typeof typed === 'string' ? typed.trim() : '')
        }}
      >
        <Field label={t('skills.repository')} hint={t('skills.repository_hint')}>
          {(ids) => (
            <Input
              {...ids}
              name="repository"
              placeholder="owner/name"
              spellCheck={false}
              className="font-mono"
              onBlur={(event) => event.currentTarget.form?.requestSubmit()}
            />
          )}
        </Field>
      </form>
      {query.isPending && <SkeletonList rows={2} label={t('skills.loading')} className="h-16" />}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && !query.isError && (
        <Card>
          {query.data.length === 0 ? (
            <EmptyState icon={<GraduationCap />} title={t('skills.empty')}>
              {t('skills.empty_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.map((skill) => (
                <ServerSkillRow
                  key={skill.path}
                  skill={skill}
                  installed={byPath.get(skill.path)}
                  repository={repository}
                  mayShare={mayShare}
                />
              ))}
            </ul>
          )}
        </Card>
      )}
      <SkillChoices />
    </section>
  )
}

function pathOf({ name, is_for_everyone: isShared }: { name: string; is_for_everyone: boolean }): string {
  return `${isShared ? 'organisation' : 'user'}/installed/${name}/SKILL.md`
}
