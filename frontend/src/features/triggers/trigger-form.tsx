import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { callableProfiles, profilesQuery } from '@/api/models/profiles'
import { sandboxSpecsQuery } from '@/api/sandboxes/sandbox-specs'
import {
  type Trigger,
  TRIGGER_EVENTS,
  type TriggerEvent,
  type TriggerFields,
} from '@/api/automation/triggers'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { Textarea } from '@/ui/form/textarea'

interface Values {
  repository: string
  events: TriggerEvent[]
  label: string
  mention: string
  branch: string
  /** The paths, separated by commas or spaces. */
  paths: string
  instructions: string
  /** The model profile. Empty means the active profile. */
  profile: string
  /** The sandbox image. Empty means the default image. */
  image: string
  opensPullRequest: boolean
  maxRunning: number
}

const EMPTY: Values = {
  repository: '',
  events: TRIGGER_EVENTS.filter((event) => event !== 'push'),
  label: 'slipway',
  mention: 'slipway',
  branch: '',
  paths: '',
  instructions: '',
  profile: '',
  image: '',
  opensPullRequest: true,
  maxRunning: 5,
}
const MOST_RUNNING = 100

export interface TriggerFormProps {
  /** The trigger to change. Null means a new trigger. */
  trigger: Trigger | null
  /** Saves the trigger. It must call `done` after a success. */
  onSubmit: (repository: string, fields: TriggerFields, done: () => void) => void
  error: Error | null
  errorTitle: string
  /** The buttons of the form. */
  children: ReactNode
}

export function TriggerForm({ trigger, onSubmit, error, errorTitle, children }: TriggerFormProps) {
  const { t } = useTranslation()
  const profiles = useQuery({ ...profilesQuery(), select: callableProfiles }).data ?? []
  const images = useQuery(sandboxSpecsQuery()).data ?? []
  const { register, handleSubmit, formState, reset, control } = useForm<Values>({
    defaultValues: trigger ? valuesOf(trigger) : EMPTY,
  })
  const events = useWatch({ control, name: 'events' })
  const has = (event: TriggerEvent) => events.includes(event)
  const submit = handleSubmit((values) => {
    const fields: TriggerFields = {
      events: values.events,
      label: values.label.trim() || EMPTY.label,
      mention: values.mention.trim().replace(/^@/, '') || EMPTY.mention,
      branch: values.branch.trim() || null,
      paths: values.paths.split(/[\s,]+/).filter(Boolean),
      instructions: values.instructions.trim(),
      llm_profile: values.profile || null,
      sandbox_spec_id: values.image || null,
      opens_pull_request: values.opensPullRequest,
      max_running: values.maxRunning,
    }
    onSubmit(values.repository.trim(), fields, () => reset(trigger ? values : EMPTY))
  })
  const { errors } = formState
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-3">
      {!trigger && (
        <Field
          label={t('triggers.repository')}
          hint={t('triggers.repository_hint')}
          error={errors.repository && t('triggers.repository_required')}
        >
          {(ids) => (
            <Input
              {...ids}
              placeholder="https://github.com/owner/name"
              {...register('repository', { validate: (text) => text.trim() !== '' })}
            />
          )}
        </Field>
      )}
      <fieldset>
        <legend className="mb-1.5 text-sm font-medium">{t('triggers.events')}</legend>
        <div className="grid gap-x-4 gap-y-2 sm:grid-cols-2">
          {TRIGGER_EVENTS.map((event) => (
            <label key={event} className="flex items-start gap-2 text-sm">
              <input
                type="checkbox"
                value={event}
                className="mt-0.5 size-4 shrink-0 accent-accent"
                {...register('events', { validate: (chosen) => chosen.length > 0 })}
              />
              {t(`triggers.event_${event}`)}
            </label>
          ))}
        </div>
        {errors.events && (
          <p role="alert" className="mt-1.5 text-xs text-danger">
            {t('triggers.events_required')}
          </p>
        )}
      </fieldset>
      <div className="grid gap-3 sm:grid-cols-2">
        {has('label') && (
          <Field label={t('triggers.label')}>{(ids) => <Input {...ids} {...register('label')} />}</Field>
        )}
        {has('mention') && (
          <Field label={t('triggers.mention')} hint={t('triggers.mention_hint')}>
            {(ids) => <Input {...ids} {...register('mention')} />}
          </Field>
        )}
        <Field label={t('triggers.branch')} hint={t('triggers.branch_hint')}>
          {(ids) => <Input {...ids} {...register('branch')} />}
        </Field>
        {has('push') && (
          <Field label={t('triggers.paths')} hint={t('triggers.paths_hint')}>
            {(ids) => <Input {...ids} placeholder="docs, *.md" {...register('paths')} />}
          </Field>
        )}
        <Field label={t('triggers.model')}>
          {(ids) => (
            <Select {...ids} {...register('profile')}>
              <option value="">{t('triggers.model_in_use')}</option>
              {profiles.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {images.length > 1 && (
          <Field label={t('triggers.image')}>
            {(ids) => (
              <Select {...ids} {...register('image')}>
                <option value="">{t('triggers.image_usual')}</option>
                {images.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <Field
          label={t('triggers.max_running')}
          hint={t('triggers.max_running_hint')}
          error={errors.maxRunning && t('triggers.max_running_invalid', { most: MOST_RUNNING })}
        >
          {(ids) => (
            <Input
              {...ids}
              type="number"
              min={1}
              max={MOST_RUNNING}
              {...register('maxRunning', {
                valueAsNumber: true,
                validate: (value) => Number.isInteger(value) && value >= 1 && value <= MOST_RUNNING,
              })}
            />
          )}
        </Field>
      </div>
      <Field
        label={t('triggers.instructions')}
        hint={t('triggers.instructions_hint')}
        error={errors.instructions && t('triggers.instructions_required')}
      >
        {(ids) => (
          <Textarea
            {...ids}
            className="max-h-60"
            {...register('instructions', {
              validate: (text, { events: chosen }) => text.trim() !== '' || !chosen.includes('push'),
            })}
          />
        )}
      </Field>
      <label className="flex items-start gap-2 text-sm">
        <input
          type="checkbox"
          className="mt-0.5 size-4 shrink-0 accent-accent"
          {...register('opensPullRequest')}
        />
        {t('triggers.opens_pull_request')}
      </label>
      <div className="flex flex-wrap gap-2">{children}</div>
      {error && <ErrorState error={error} title={errorTitle} />}
    </form>
  )
}

function valuesOf(trigger: Trigger): Values {
  return {
    repository: trigger.repository,
    events: trigger.events ?? [],
    label: trigger.label ?? EMPTY.label,
    mention: trigger.mention ?? EMPTY.mention,
    branch: trigger.branch ?? '',
    paths: (trigger.paths ?? []).join(', '),
    instructions: trigger.instructions ?? '',
    profile: trigger.llm_profile ?? '',
    image: trigger.sandbox_spec_id ?? '',
    opensPullRequest: trigger.opens_pull_request ?? true,
    maxRunning: trigger.max_running ?? EMPTY.maxRunning,
  }
}
