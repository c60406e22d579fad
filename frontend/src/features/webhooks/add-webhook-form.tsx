import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { type CallbackWithSecret, useAddWebhook } from '@/api/callbacks'
import { currentUserQuery, isAdministrator } from '@/api/users'
import { Button } from '@/ui/button'
import { ErrorState } from '@/ui/error-state'
import { Field } from '@/ui/field'
import { Input } from '@/ui/input'
import { Select } from '@/ui/select'

interface Values {
  name: string
  url: string
  /** Separated by commas or spaces; empty: all. */
  kinds: string
  tools: string
  statuses: string
  scope: 'own' | 'everyone'
}

const EMPTY: Values = { name: '', url: '', kinds: '', tools: '', statuses: '', scope: 'own' }
const FILTERS = [
  { name: 'kinds', example: 'MessageEvent' },
  { name: 'tools', example: 'terminal' },
  { name: 'statuses', example: 'finished, error' },
] as const

export function AddWebhookForm({ onAdded }: { onAdded: (added: CallbackWithSecret) => void }) {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  const add = useAddWebhook()
  const { register, handleSubmit, formState, reset } = useForm<Values>({ defaultValues: EMPTY })
  const submit = handleSubmit(({ name, url, kinds, tools, statuses, scope }) => {
    const wanted = {
      name: name.trim(),
      url: url.trim(),
      kinds: wordsOf(kinds),
      tools: wordsOf(tools),
      statuses: wordsOf(statuses),
      is_for_everyone: scope === 'everyone',
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
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label={t('webhooks.name')} error={errors.name && t('webhooks.name_required')}>
          {(ids) => <Input {...ids} {...register('name', { validate: (name) => name.trim() !== '' })} />}
        </Field>
        <Field label={t('webhooks.url')} error={errors.url && t('webhooks.url_required')}>
          {(ids) => (
            <Input
              {...ids}
              type="url"
              placeholder="https://example.com/hook"
              {...register('url', { validate: (url) => /^https?:\/\/./.test(url.trim()) })}
            />
          )}
        </Field>
        {FILTERS.map(({ name, example }) => (
          <Field key={name} label={t(`webhooks.${name}`)} hint={t('webhooks.filter_hint')}>
            {(ids) => <Input {...ids} placeholder={example} {...register(name)} />}
          </Field>
        ))}
        {me && isAdministrator(me) && (
          <Field label={t('webhooks.scope')}>
            {(ids) => (
              <Select {...ids} {...register('scope')}>
                <option value="own">{t('webhooks.scope_own')}</option>
                <option value="everyone">{t('webhooks.scope_everyone')}</option>
              </Select>
            )}
          </Field>
        )}
      </div>
      <Button
        type="submit"
        variant="primary"
        icon={<Plus className="size-4" />}
        isBusy={add.isPending}
        className="self-start"
      >
        {t('webhooks.add')}
      </Button>
      {add.isError && <ErrorState error={add.error} title={t('webhooks.add_failed')} />}
    </form>
  )
}

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean)
}
