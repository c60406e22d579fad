import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { administeredSettingsQuery, effectiveSettingsQuery } from '@/api/people/levels'
import { teamsQuery } from '@/api/people/teams'
import { currentUserQuery, isAdministrator } from '@/api/people/users'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { SectionHeader } from '@/ui/layout/section-header'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { EffectiveRow } from './effective-row'
import { SettingRow } from './setting-row'

const SETTINGS = [
  'llm_profile',
  'max_budget_per_task',
  'confirmation_mode',
  'max_iterations',
  'sandbox_grouping_strategy',
  'commit_trailer',
] as const

/** Settings of the organisation and its teams, and what of all levels holds for the user. */
export function OrganisationSection() {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  const mayChange = me !== undefined && isAdministrator(me)
  return (
    <section aria-label={t('organisation.title')}>
      <SectionHeader
        title={t('organisation.title')}
        lead={t(mayChange ? 'organisation.lead' : 'organisation.lead_own')}
      />
      {mayChange && <Administered />}
      <Effective />
    </section>
  )
}

function Administered() {
  const { t } = useTranslation()
  const query = useQuery(administeredSettingsQuery())
  const teams = useQuery(teamsQuery()).data ?? []
  const [teamId, setTeamId] = useState('')
  const values = query.data?.filter((value) => (value.team_id ?? '') === teamId)
  return (
    <>
      <Field label={t('organisation.level')} className="mb-4 max-w-sm">
        {(control) => (
          <Select {...control} value={teamId} onChange={(event) => setTeamId(event.target.value)}>
            <option value="">{t('organisation.everyone')}</option>
            {teams.map(({ id, name }) => (
              <option key={id} value={id}>
                {t('organisation.team', { name })}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {query.isPending && <SkeletonList rows={6} label={t('organisation.loading')} className="h-14" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {values && (
        <Card>
          <ul className="divide-y divide-border">
            {SETTINGS.map((name) => {
              const value = values.find((each) => each.name === name)
              return (
                <SettingRow
                  key={[teamId, name, value?.updated_at].join()}
                  name={name}
                  teamId={teamId || null}
                  value={value}
                />
              )
            })}
          </ul>
        </Card>
      )}
    </>
  )
}

function Effective() {
  const { t } = useTranslation()
  const query = useQuery(effectiveSettingsQuery())
  return (
    <section aria-label={t('organisation.effective')} className="mt-10">
      <h3 className="mb-3 text-base font-semibold">{t('organisation.effective')}</h3>
      {query.isPending && <SkeletonList rows={6} label={t('organisation.loading')} className="h-14" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          <ul className="divide-y divide-border">
            {SETTINGS.map((name) => {
              const setting = query.data.find((each) => each.name === name)
              return setting && <EffectiveRow key={name} setting={setting} />
            })}
          </ul>
        </Card>
      )}
    </section>
  )
}
