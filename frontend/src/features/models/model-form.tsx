import { zodResolver } from '@hookform/resolvers/zod'
import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { isApiError } from '@/api/errors'
import { useSaveProfile } from '@/api/profiles'
import type { LLMProfile } from '@/api/types'
import { dollarsOf } from '@/lib/dollars-of'
import { Button } from '@/ui/button'
import { DialogActions } from '@/ui/dialog'
import { ErrorState } from '@/ui/error-state'
import { Field } from '@/ui/field'
import { Input } from '@/ui/input'
import { Select } from '@/ui/select'
import { modelSchema, type ModelFormValues } from './model-schema'
import { VENDOR_PRESETS } from './vendor-presets'

export interface ModelFormProps {
  /** The profile to edit; none = a new one. */
  profile?: LLMProfile
  onCancel: () => void
  onSaved: (name: string) => void
}

export function ModelForm({ profile, onCancel, onSaved }: ModelFormProps) {
  const { t } = useTranslation()
  const save = useSaveProfile()
  const form = useForm<ModelFormValues>({
    resolver: zodResolver(modelSchema),
    defaultValues: {
      name: profile?.name ?? '',
      model: profile?.model ?? '',
      baseUrl: profile?.base_url ?? '',
      apiKey: '',
      budget: profile?.max_budget_per_task?.toString() ?? '',
    },
  })
  const submit = form.handleSubmit(({ name, model, baseUrl, apiKey, budget }) =>
    save.mutate(
      {
        name,
        previousName: profile?.name,
        llm: {
          model,
          base_url: baseUrl || null,
          max_budget_per_task: dollarsOf(budget),
          ...(apiKey && { api_key: apiKey }),
        },
      },
      { onSuccess: () => onSaved(name) },
    ),
  )

  /** What is wrong with a field: our own check first, else the server's. */
  function errorOf(field: keyof ModelFormValues, wireName: string) {
    const own = form.formState.errors[field]?.message
    if (own) return t(own)
    if (!isApiError(save.error)) return undefined
    return save.error.fieldErrors.find((item) => item.loc.includes(wireName))?.msg
  }

  function applyPreset(label: string) {
    const preset = VENDOR_PRESETS.find((item) => item.label === label)
    if (preset)
      form.reset({ ...preset.values, apiKey: form.getValues('apiKey'), budget: form.getValues('budget') })
  }

  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="flex flex-col gap-4">
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
      <Field label={t('models.model')} hint={t('models.model_hint')} error={errorOf('model', 'model')}>
        {(control) => <Input {...control} className="font-mono" {...form.register('model')} />}
      </Field>
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
        label={t('models.api_key')}
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
      <Field
        label={t('models.budget')}
        note={t('home.optional')}
        hint={t('models.budget_hint')}
        error={errorOf('budget', 'max_budget_per_task')}
      >
        {(control) => <Input {...control} inputMode="decimal" {...form.register('budget')} />}
      </Field>
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
