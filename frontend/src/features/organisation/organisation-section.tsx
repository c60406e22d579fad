import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  administeredSettingsQuery,
  effectiveSettingsQuery,
  type AdministeredValue,
  type LevelOwner,
  type SettingName,
} from '@/api/people/levels'
import { peopleQuery } from '@/api/people/people'
import { teamsQuery } from '@/api/people/teams'
import { currentUserQuery, isAdministrator } from '@/api/people/users'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { SectionHeader } from '@/ui/layout/section-header'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { EffectiveSettingRow } from './effective-setting-row'
import { SettingRow } from './setting-row'

/** The quotas for one person, and the quotas for the whole organisation. Only administrators set them. */
const QUOTAS = [
  'running_sandboxes',
  'starts_per_hour',
  'parallel_model_calls',
  'organisation_running_sandboxes',
  'organisation_starts_per_hour',
  'events_per_conversation',
  'storage_gib',
  'organisation_storage_gib',
] as const

const isQuota = (name: SettingName) => (QUOTAS as readonly string[]).includes(name)

/** The quotas that only the organisation can have, and not a team or a person. */
const TOTALS: ReadonlySet<string> = new Set([
  'organisation_running_sandboxes',
  'organisation_starts_per_hour',
  'organisation_storage_gib',
])

const SETTINGS = [
  'llm_profile',
  'monthly_budget',
  'max_budget_per_task',
  'confirmation_mode',
  'max_iterations',
  'sandbox_grouping_strategy',
  'clone',
  'submodules',
  'commit_trailer',
] as const

/** The settings of the organisation and its teams, and the values that are in effect for the user. */
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
  const people = useQuery(peopleQuery()).data ?? []
  const [chosen, setChosen] = useState('')
  const [level, id] = chosen.split(' ')
  const owner: LevelOwner = { teamId: level === 'team' ? id! : null, userId: level === 'user' ? id! : null }
  const values = query.data?.filter(
    (value) => value.team_id === owner.teamId && value.user_id === owner.userId,
  )
  const quotas = level ? QUOTAS.filter((name) => !TOTALS.has(name)) : QUOTAS
  return (
    <>
      <Field label={t('organisation.level')} className="mb-4 max-w-sm">
        {(control) => (
          <Select {...control} value={chosen} onChange={(event) => setChosen(event.target.value)}>
            <option value="">{t('organisation.everyone')}</option>
            {teams.map(({ id, name }) => (
              <option key={id} value={`team ${id}`}>
                {t('organisation.team', { name })}
              </option>
            ))}
            {people.map(({ id, name }) => (
              <option key={id} value={`user ${id}`}>
                {t('organisation.person', { name })}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {query.isPending && <SkeletonList rows={6} label={t('organisation.loading')} className="h-14" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {values && level !== 'user' && <Settings names={SETTINGS} owner={owner} values={values} />}
      {values && (
        <>
          <h3 className="mt-8 text-base font-semibold">{t('organisation.quotas')}</h3>
          <p className="mt-1 mb-3 max-w-lg text-sm text-muted">{t('organisation.quotas_lead')}</p>
          <Settings names={quotas} owner={owner} values={values} />
        </>
      )}
    </>
  )
}

interface SettingsProps {
  names: readonly SettingName[]
  owner: LevelOwner
  values: AdministeredValue[]
}

function Settings({ names, owner, values }: SettingsProps) {
  return (
    <Card>
      <ul className="divide-y divide-border">
        {names.map((name) => {
          const value = values.find((each) => each.name === name)
          const key = [owner.teamId, owner.userId, name, value?.updated_at].join()
          return <SettingRow key={key} name={name} owner={owner} value={value} />
        })}
      </ul>
    </Card>
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
            {[...SETTINGS, ...QUOTAS].map((name) => {
              const setting = query.data.find((each) => each.name === name)
              const isShown = setting && (setting.value !== null || !isQuota(name))
              return isShown && <EffectiveSettingRow key={name} setting={setting} />
            })}
          </ul>
        </Card>
      )}
    </section>
  )
}
