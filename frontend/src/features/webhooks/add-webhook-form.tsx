import { useQuery } from '@tanstack/react-query'
import { useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { type CallbackWithSecret, type Processor, useAddWebhook } from '@/api/automation/callbacks'
import { currentUserQuery, isAdministrator } from '@/api/people/users'
import { AddForm } from '@/ui/form/add-form'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { Textarea } from '@/ui/form/textarea'

interface Values {
  name: string
  processor: Processor
  url: string
  email: string
  instructions: string
  /** The kinds of events, separated by commas or spaces. Empty means all kinds. */
  kinds: string
  tools: string
  statuses: string
  scope: 'own' | 'everyone'
}

const EMPTY: Values = {
  name: '',
  processor: 'webhook',
  url: '',
  email: '',
  instructions: '',
  kinds: '',
  tools: '',
  statuses: '',
  scope: 'own',
}
/** The default statuses of a callback that notifies people. */
const DEFAULT_EVENTS = 'finished, error, stuck, waiting_for_confirmation'
const USUAL: Record<Processor, string> = {
  webhook: '',
  chat: DEFAULT_EVENTS,
  mail: DEFAULT_EVENTS,
  comment: DEFAULT_EVENTS,
  task: 'finished',
}
const PROCESSORS: Processor[] = ['webhook', 'chat', 'mail', 'comment', 'task']
const FILTERS = [
  { name: 'kinds', example: 'MessageEvent' },
  { name: 'tools', example: 'terminal' },
  { name: 'statuses', example: 'finished, error' },
] as const

export function AddWebhookForm({ onAdded }: { onAdded: (added: CallbackWithSecret) => void }) {
  const { t } = useTranslation()
  const me = useQuery(currentUserQuery()).data
  const add = useAddWebhook()
  const { register, handleSubmit, formState, reset, control, getValues, setValue } = useForm<Values>({
    defaultValues: EMPTY,
  })
  const processor = useWatch({ control, name: 'processor' })
  const isMail = processor === 'mail'
  const isTask = processor === 'task'
  const hasUrl = processor === 'webhook' || processor === 'chat'
  const submit = handleSubmit(({ name, url, email, instructions, kinds, tools, statuses, scope }) => {
    const wanted = {
      name: name.trim(),
      processor,
      ...(isMail && { email: email.trim() }),
      ...(isTask && { instructions: instructions.trim() }),
      ...(hasUrl && { url: url.trim() }),
      kinds: wordsOf(kinds),
      tools: wordsOf(tools),
      statuses: wordsOf(statuses),
      is_for_everyone: scope === 'everyone' && !isTask,
    }
    add.mutate(wanted, {
      onSuccess: (added) => {
        reset()
        onAdded(added)
      },
    })
  })
  const { errors } = formState
  function handleProcessor() {
    const { processor: chosen, kinds, tools, statuses } = getValues()
    const isUntouched = `${kinds}${tools}`.trim() === '' && Object.values(USUAL).includes(statuses.trim())
    if (isUntouched) setValue('statuses', USUAL[chosen])
  }
  return (
    <AddForm
      onSubmit={(event) => void submit(event)}
      label={t('webhooks.add')}
      isBusy={add.isPending}
      error={add.error}
      errorTitle={t('webhooks.add_failed')}
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <Field label={t('webhooks.name')} error={errors.name && t('webhooks.name_required')}>
          {(ids) => <Input {...ids} {...register('name', { validate: (name) => name.trim() !== '' })} />}
        </Field>
        <Field label={t('webhooks.processor')} hint={t(`webhooks.processor_${processor}_hint`)}>
          {(ids) => (
            <Select {...ids} {...register('processor', { onChange: handleProcessor })}>
              {PROCESSORS.map((each) => (
                <option key={each} value={each}>
                  {t(`webhooks.processor_${each}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {isMail && (
          <Field label={t('webhooks.email')} error={errors.email && t('webhooks.email_required')}>
            {(ids) => (
              <Input
                {...ids}
                type="email"
                placeholder="team@example.com"
                {...register('email', { validate: (email) => /^\S+@\S+$/.test(email.trim()) })}
              />
            )}
          </Field>
        )}
        {isTask && (
          <Field
            label={t('webhooks.instructions')}
            error={errors.instructions && t('webhooks.instructions_required')}
          >
            {(ids) => (
              <Textarea
                {...ids}
                rows={3}
                {...register('instructions', { validate: (text) => text.trim() !== '' })}
              />
            )}
          </Field>
        )}
        {hasUrl && (
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
        )}
        {FILTERS.map(({ name, example }) => (
          <Field key={name} label={t(`webhooks.${name}`)} hint={t('webhooks.filter_hint')}>
            {(ids) => <Input {...ids} placeholder={example} {...register(name)} />}
          </Field>
        ))}
        {me && isAdministrator(me) && !isTask && (
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
    </AddForm>
  )
}

function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean)
}
