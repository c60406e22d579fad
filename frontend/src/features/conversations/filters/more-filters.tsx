import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { filterChoicesQuery } from '@/api/conversations/conversations'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import type { ConversationsFilter } from './conversations-filter'

export interface MoreFiltersProps {
  filter: ConversationsFilter
  /** Called with the changed values only. */
  onFilterChange: (change: Partial<ConversationsFilter>) => void
}

/** The filters for model, branch, owner and time. A filter without choices is not shown. */
export function MoreFilters({ filter, onFilterChange }: MoreFiltersProps) {
  const { t } = useTranslation()
  const choices = useQuery(filterChoicesQuery()).data
  const owners = (choices?.owners ?? []).map(({ id, name }): Choice => [id, name])
  return (
    <>
      <ChoiceFilter
        label={t('conversations.filter_model')}
        any={t('conversations.any_model')}
        value={filter.model}
        choices={(choices?.llm_models ?? []).map((model): Choice => [model, model])}
        onValueChange={(model) => onFilterChange({ model })}
      />
      <ChoiceFilter
        label={t('conversations.filter_branch')}
        any={t('conversations.any_branch')}
        value={filter.branch}
        choices={(choices?.selected_branches ?? []).map((branch): Choice => [branch, branch])}
        onValueChange={(branch) => onFilterChange({ branch })}
      />
      <ChoiceFilter
        label={t('conversations.filter_owner')}
        any={t('conversations.any_owner')}
        value={filter.owner}
        choices={owners}
        onValueChange={(owner) => onFilterChange({ owner })}
      />
      <div className="grid w-full grid-cols-2 gap-2 sm:flex sm:w-auto">
        <DayFilter
          label={t('conversations.filter_from')}
          value={filter.from}
          max={filter.to}
          onValueChange={(from) => onFilterChange({ from })}
        />
        <DayFilter
          label={t('conversations.filter_to')}
          value={filter.to}
          min={filter.from}
          onValueChange={(to) => onFilterChange({ to })}
        />
      </div>
    </>
  )
}

interface DayFilterProps {
  label: string
  value: string
  min?: string
  max?: string
  onValueChange: (value: string) => void
}

function DayFilter({ label, value, min, max, onValueChange }: DayFilterProps) {
  return (
    <label className="flex min-w-0 flex-col gap-1 text-sm text-muted sm:flex-row sm:items-center sm:gap-2">
      {label}
      <Input
        type="date"
        value={value}
        min={min || undefined}
        max={max || undefined}
        onChange={({ target }) => onValueChange(target.value)}
        className="sm:w-40"
      />
    </label>
  )
}

/** A value and its displayed text. */
type Choice = [value: string, text: string]

interface ChoiceFilterProps {
  label: string
  /** The text of the choice that allows any value. */
  any: string
  value: string
  choices: readonly Choice[]
  onValueChange: (value: string) => void
}

function ChoiceFilter({ label, any, value, choices, onValueChange }: ChoiceFilterProps) {
  const isKnown = value === '' || choices.some(([known]) => known === value)
  const shown = isKnown ? choices : [...choices, [value, value] satisfies Choice]
  if (shown.length === 0) return null
  return (
    <Select
      aria-label={label}
      value={value}
      onChange={({ target }) => onValueChange(target.value)}
      className="w-full sm:w-44"
    >
      <option value="">{any}</option>
      {shown.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </Select>
  )
}
