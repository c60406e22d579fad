import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { profilesQuery } from '@/api/profiles'
import { TRIGGER_EVENTS, type TriggerEvent, type TriggerWithSecret, useAddTrigger } from '@/api/triggers'
import { Button } from '@/ui/button'
import { ErrorState } from '@/ui/error-state'
import { Field } from '@/ui/field'
import { Input } from '@/ui/input'
import { Select } from '@/ui/select'
import { Textarea } from '@/ui/textarea'

interface Values {
  repository: string
  events: TriggerEvent[]
  label: string
  mention: string
  branch: string
  /** Separated by commas or spaces. */
  paths: string
  instructions: string
  /** Empty: the model in use. */
  profile: string
  opensPullRequest: boolean
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
  opensPullRequest: true,
}

export function AddTriggerForm({ onAdded }: { onAdded: (added: TriggerWithSecret) => void }) {
  const { t } = useTranslation()
  const profiles = useQuery(profilesQuery()).data?.profiles ?? []
  const add = useAddTrigger()
  const { register, handleSubmit, formState, reset, control } = useForm<Values>({ defaultValues: EMPTY })
  const events = useWatch({ control, name: 'events' })
  const has = (event: TriggerEvent) => events.includes(event)
  const submit = handleSubmit((values) => {
    const wanted = {
      repository: values.repository.trim(),
      events: values.events,
      label: values.label.trim() || EMPTY.label,
      mention: values.mention.trim().replace(/^@/, '') || EMPTY.mention,
      branch: values.branch.trim() || null,
      paths: values.paths.split(/[\s,]+/).filter(Boolean),
      instructions: values.instructions.trim(),
      llm_profile: values.profile || null,
      opens_pull_request: values.opensPullRequest,
    }
    add.mutate(wanted, {
      onSuccess: (added) => {
        reset()
        onAdded(added)
      },
    })
  })
  const { errors } = formState
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="mb-5 flex flex-col gap-3">
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
      <Button
        type="submit"
        variant="primary"
        icon={<Plus className="size-4" />}
        isBusy={add.isPending}
        className="self-start"
      >
        {t('triggers.add')}
      </Button>
      {add.isError && <ErrorState error={add.error} title={t('triggers.add_failed')} />}
    </form>
  )
}
