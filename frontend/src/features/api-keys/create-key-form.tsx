import { useForm } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { useCreateApiKey } from '@/api/people/api-keys'
import type { CreatedApiKey } from '@/api/types'
import { AddForm } from '@/ui/form/add-form'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { KEY_SCOPES, type KeyScopesName } from './key-scopes'

const LIFETIMES_DAYS = [30, 90, 365]

interface Values {
  name: string
  scopes: KeyScopesName
  /** The number of days. If it is empty, the key does not expire. */
  lifetime: string
  /** Networks, separated by commas or spaces. If it is empty, every network may use the key. */
  addresses: string
}

const EMPTY: Values = { name: '', scopes: 'all', lifetime: '', addresses: '' }

export function CreateKeyForm({ onCreated }: { onCreated: (created: CreatedApiKey) => void }) {
  const { t } = useTranslation()
  const create = useCreateApiKey()
  const { register, handleSubmit, formState, reset } = useForm<Values>({ defaultValues: EMPTY })
  const submit = handleSubmit(({ name, scopes, lifetime, addresses }) => {
    const chosen = KEY_SCOPES[scopes]
    const allowed = addresses.split(/[\s,]+/).filter(Boolean)
    const wanted = {
      name: name.trim(),
      ...(chosen && { scopes: [...chosen] }),
      ...(lifetime && { expires_in_days: Number(lifetime) }),
      ...(allowed.length > 0 && { addresses: allowed }),
    }
    create.mutate(wanted, {
      onSuccess: (created) => {
        reset()
        onCreated(created)
      },
    })
  })
  return (
    <AddForm
      onSubmit={(event) => void submit(event)}
      label={t('api_keys.create')}
      isBusy={create.isPending}
      error={create.error}
      errorTitle={t('api_keys.create_failed')}
    >
      <div className="flex flex-wrap items-start gap-3">
        <Field
          label={t('api_keys.name')}
          error={formState.errors.name && t('api_keys.name_required')}
          className="min-w-44 flex-1"
        >
          {(control) => (
            <Input
              {...control}
              placeholder={t('api_keys.name_placeholder')}
              {...register('name', { validate: (name) => name.trim() !== '' })}
            />
          )}
        </Field>
        <Field label={t('api_keys.scopes')} className="min-w-44">
          {(control) => (
            <Select {...control} {...register('scopes')}>
              {(Object.keys(KEY_SCOPES) as KeyScopesName[]).map((name) => (
                <option key={name} value={name}>
                  {t(`api_keys.scopes_${name}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t('api_keys.lifetime')} className="min-w-36">
          {(control) => (
            <Select {...control} {...register('lifetime')}>
              <option value="">{t('api_keys.never_expires')}</option>
              {LIFETIMES_DAYS.map((count) => (
                <option key={count} value={count}>
                  {t('api_keys.expires_in_days', { count })}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field
          label={t('api_keys.addresses')}
          hint={t('api_keys.addresses_hint')}
          className="min-w-44 flex-1"
        >
          {(control) => <Input {...control} placeholder="192.0.2.0/24" {...register('addresses')} />}
        </Field>
      </div>
    </AddForm>
  )
}
