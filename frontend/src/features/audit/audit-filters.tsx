import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import type { AuditAction, AuditEntry, AuditFilter } from '@/api/people/audit'
import { peopleQuery } from '@/api/people/people'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { AUDIT_ACTIONS, labelOfAction } from './audit-actions'
import { dayOf, nextDayOf, startOfDay } from '@/lib/text/days'

const OUTCOMES: AuditEntry['outcome'][] = ['success', 'refused']

export interface AuditFiltersProps {
  filter: AuditFilter
  onChange: (filter: AuditFilter) => void
}

export function AuditFilters({ filter, onChange }: AuditFiltersProps) {
  const { t } = useTranslation()
  const people = useQuery(peopleQuery()).data ?? []
  const set = (change: AuditFilter) => onChange({ ...filter, ...change })
  return (
    <div role="search" aria-label={t('audit.filters')} className="mb-4 grid grid-cols-2 gap-3 lg:grid-cols-3">
      <Field label={t('audit.person')}>
        {(ids) => (
          <Select
            {...ids}
            value={filter.actor_id ?? ''}
            onChange={({ target }) => set({ actor_id: target.value || undefined })}
          >
            <option value="">{t('audit.everyone')}</option>
            {people.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t('audit.action')}>
        {(ids) => (
          <Select
            {...ids}
            value={filter.action ?? ''}
            onChange={({ target }) => set({ action: (target.value || undefined) as AuditAction | undefined })}
          >
            <option value="">{t('audit.every_action')}</option>
            {AUDIT_ACTIONS.map((action) => (
              <option key={action} value={action}>
                {labelOfAction(t, action)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t('audit.outcome')}>
        {(ids) => (
          <Select
            {...ids}
            value={filter.outcome ?? ''}
            onChange={({ target }) =>
              set({ outcome: (target.value || undefined) as AuditEntry['outcome'] | undefined })
            }
          >
            <option value="">{t('audit.every_outcome')}</option>
            {OUTCOMES.map((outcome) => (
              <option key={outcome} value={outcome}>
                {t(`audit.outcome_${outcome}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t('audit.first_day')}>
        {(ids) => (
          <Input
            {...ids}
            type="date"
            value={filter.since ? dayOf(filter.since) : ''}
            onChange={({ target }) => set({ since: startOfDay(target.value) })}
          />
        )}
      </Field>
      <Field label={t('audit.last_day')}>
        {(ids) => (
          <Input
            {...ids}
            type="date"
            value={filter.until ? dayOf(filter.until, -1) : ''}
            onChange={({ target }) => set({ until: nextDayOf(target.value) })}
          />
        )}
      </Field>
    </div>
  )
}
