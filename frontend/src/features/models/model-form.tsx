import { zodResolver } from '@hookform/resolvers/zod'
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { isApiError } from '@/api/errors'
import { modelFactsQuery } from '@/api/models/model-facts'
import { useSaveProfile } from '@/api/models/profiles'
import type { LLMProfile } from '@/api/types'
import { useDebounced } from '@/lib/hooks/use-debounced'
import { Button } from '@/ui/form/button'
import { DialogActions } from '@/ui/overlay/dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Notice } from '@/ui/feedback/notice'
import { Select } from '@/ui/form/select'
import { AdvancedFields } from './advanced-fields'
import { modelSchema, type ModelFormValues } from './model-schema'
import { inputOf, isAtVertex, valuesOf } from './model-values'
import { ServerModels } from './server-models'
import { pricePerMillion } from './token-prices'
import { VENDOR_PRESETS, type VendorPreset } from './vendor-presets'

const PRICES = [
  { name: 'inputPrice', wireName: 'input_cost_per_token', label: 'models.input_price' },
  { name: 'outputPrice', wireName: 'output_cost_per_token', label: 'models.output_price' },
] as const

export interface ModelFormProps {
  /** The profile to edit. If it is left out, the form adds a new profile. */
  profile?: LLMProfile
  onCancel: () => void
  onSaved: (name: string) => void
}

export function ModelForm({ profile, onCancel, onSaved }: ModelFormProps) {
  const { t } = useTranslation()
  const save = useSaveProfile()
  const form = useForm<ModelFormValues>({
    resolver: zodResolver(modelSchema),
    defaultValues: valuesOf(profile),
  })
  const [note, setNote] = useState<VendorPreset['note']>()
  const modelList = useId()
  const baseUrl = useWatch({ control: form.control, name: 'baseUrl' }).trim()
  const model = useDebounced(useWatch({ control: form.control, name: 'model' }).trim(), 300)
  const { data: facts } = useQuery(modelFactsQuery(model))
  const submit = form.handleSubmit((values) =>
    save.mutate(
      { name: values.name, previousName: profile?.name, llm: inputOf(values) },
      { onSuccess: () => onSaved(values.name) },
    ),
  )

  /** Returns the error of a field: the error of our check, or else the error from the app server. */
  function errorOf(field: keyof ModelFormValues, wireName: string) {
    const own = form.formState.errors[field]?.message
    if (own) return t(own)
    if (!isApiError(save.error)) return undefined
    return save.error.fieldErrors.find((item) => item.loc.includes(wireName))?.msg
  }

  function applyPreset(label: string) {
    const preset = VENDOR_PRESETS.find((item) => item.label === label)
    setNote(preset?.note)
    if (preset) form.reset({ ...form.getValues(), ...preset.values })
  }

  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        {!profile && (
          <Field label={t('models.vendor')} hint={t('models.vendor_hint')}>
            {(control) => (
              <Select {...control} defaultValue="" onChange={(event) => applyPreset(event.target.value)}>
                <option value="">{t('models.vendor_other')}</option>
                {VENDOR_PRESETS.map((preset) => (
                  <option key={preset.label}>{preset.label}</option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <Field label={t('models.name')} hint={t('models.name_hint')} error={errorOf('name', 'name')}>
          {(control) => <Input {...control} {...form.register('name')} />}
        </Field>
      </div>
      <Field label={t('models.model')} hint={t('models.model_hint')} error={errorOf('model', 'model')}>
        {(control) => (
          <Input {...control} className="font-mono" list={modelList} {...form.register('model')} />
        )}
      </Field>
      {baseUrl && (
        <ServerModels
          listId={modelList}
          vendor={model.includes('/') ? model.split('/')[0]! : 'openai'}
          server={() => ({
            base_url: baseUrl,
            ...(form.getValues('apiKey') && { api_key: form.getValues('apiKey') }),
            ...(profile && { profile: profile.name }),
          })}
        />
      )}
      {note && (
        <Notice tone="accent" title={t(note.title)}>
          {t(note.text)}
        </Notice>
      )}
      {facts && !facts.is_listed && (
        <Notice tone="neutral" title={t('models.not_listed')}>
          {t('models.not_listed_text', {
            window: facts.context_window,
            images: t(facts.sees_images ? 'models.images_yes' : 'models.images_no'),
          })}
        </Notice>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label={t('models.base_url')}
          note={t('home.optional')}
          hint={t('models.base_url_hint')}
          error={errorOf('baseUrl', 'base_url')}
        >
          {(control) => (
            <Input {...control} className="font-mono" inputMode="url" {...form.register('baseUrl')} />
          )}
        </Field>
        <Field
          label={t(isAtVertex(model) ? 'models.vertex_key' : 'models.api_key')}
          hint={profile?.api_key_set ? t('models.api_key_keep') : t('models.api_key_hint')}
          error={errorOf('apiKey', 'api_key')}
        >
          {(control) => (
            <Input
              {...control}
              type="password"
              autoComplete="new-password"
              placeholder={profile?.api_key_set ? '••••••••••••' : undefined}
              {...form.register('apiKey')}
            />
          )}
        </Field>
      </div>
      <div className="grid grid-cols-2 gap-4 sm:grid-cols-4">
        <Field
          className="col-span-2"
          label={t('models.budget')}
          note={t('home.optional')}
          hint={t('models.budget_hint')}
          error={errorOf('budget', 'max_budget_per_task')}
        >
          {(control) => <Input {...control} inputMode="decimal" {...form.register('budget')} />}
        </Field>
        {PRICES.map(({ name, wireName, label }) => (
          <Field
            key={name}
            label={t(label)}
            note={t('home.optional')}
            hint={t('models.price_hint')}
            error={errorOf(name, wireName)}
          >
            {(control) => (
              <Input
                {...control}
                inputMode="decimal"
                placeholder={pricePerMillion(facts?.[wireName])}
                {...form.register(name)}
              />
            )}
          </Field>
        ))}
      </div>
      <AdvancedFields
        register={form.register}
        errorOf={errorOf}
        facts={facts}
        hasLocation={isAtVertex(model)}
        storedHeaders={profile?.extra_header_names ?? []}
      />
      {save.isError && <ErrorState error={save.error} title={t('models.save_failed')} />}
      <DialogActions>
        <Button onClick={onCancel}>{t('action.cancel')}</Button>
        <Button type="submit" variant="primary" isBusy={save.isPending}>
          {t('action.save')}
        </Button>
      </DialogActions>
    </form>
  )
}
