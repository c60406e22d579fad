import { useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import {
  CREDENTIAL_KINDS,
  CREDENTIAL_SCOPES,
  type NetworkCredential,
  type NetworkCredentialInput,
  useSaveNetworkCredential,
} from '@/api/sandboxes/network-credentials'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { RepositoryField } from '@/ui/form/repository-field'
import { Select } from '@/ui/form/select'

const HOST = /^[^\s/:@?#]+$/
const PATH = /^(\/[A-Za-z0-9._~@:+-]+)*\/?$/
const MIN_VALUE_CHARACTERS = 8

export interface CredentialFormProps {
  /** The credential to replace. The form starts with all its data except the value. */
  replaced?: NetworkCredential
  /** Whether the user may add credentials for all users. */
  isOwner: boolean
  onDone: () => void
}

/** Adds a credential, or replaces one. The form is cleared after saving. */
export function CredentialForm({ replaced, isOwner, onDone }: CredentialFormProps) {
  const { t } = useTranslation()
  const save = useSaveNetworkCredential()
  const { register, handleSubmit, formState, control } = useForm<NetworkCredentialInput>({
    defaultValues: { ...defaults(replaced) },
  })
  const { errors } = formState
  const [kind, scope] = useWatch({ control, name: ['kind', 'scope'] })
  const submit = handleSubmit((given) =>
    save.mutate(cleaned(given), {
      onSuccess: () => {
        toast.success(t('network.credentials.saved', { host: given.host }))
        onDone()
      },
    }),
  )
  const isFixed = replaced !== undefined
  return (
    <form
      aria-label={t(isFixed ? 'network.credentials.replace' : 'network.credentials.add')}
      onSubmit={(event) => void submit(event)}
      noValidate
      className="flex flex-col gap-4"
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label={t('network.credentials.host')}
          error={errors.host && t('network.credentials.host_invalid')}
        >
          {(props) => (
            <Input
              {...props}
              placeholder="registry.npmjs.org"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              readOnly={isFixed}
              className="font-mono"
              {...register('host', { required: true, pattern: HOST })}
            />
          )}
        </Field>
        <Field label={t('network.credentials.port')}>
          {(props) => (
            <Input
              {...props}
              type="number"
              min={1}
              max={65535}
              readOnly={isFixed}
              {...register('port', { valueAsNumber: true, required: true, min: 1, max: 65535 })}
            />
          )}
        </Field>
        <Field
          label={t('network.credentials.path')}
          hint={t('network.credentials.path_hint')}
          error={errors.path_prefix && t('network.credentials.path_invalid')}
        >
          {(props) => (
            <Input
              {...props}
              placeholder="/team"
              autoComplete="off"
              spellCheck={false}
              readOnly={isFixed}
              className="font-mono"
              {...register('path_prefix', { pattern: PATH })}
            />
          )}
        </Field>
        {!isFixed && (
          <Field label={t('network.credentials.scope')}>
            {(props) => (
              <Select {...props} {...register('scope')}>
                {CREDENTIAL_SCOPES.filter((each) => isOwner || each !== 'server').map((each) => (
                  <option key={each} value={each}>
                    {t(`network.credentials.scopes.${each}`)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        {!isFixed && scope === 'repository' && (
          <RepositoryField
            label={t('network.repository')}
            error={errors.repository && t('network.credentials.repository_missing')}
            {...register('repository', { required: true })}
          />
        )}
        <Field label={t('network.credentials.kind')}>
          {(props) => (
            <Select {...props} {...register('kind')}>
              {CREDENTIAL_KINDS.map((each) => (
                <option key={each} value={each}>
                  {t(`network.credentials.kinds.${each}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        {kind === 'basic' && (
          <Field label={t('network.credentials.username')} hint={t('network.credentials.username_hint')}>
            {(props) => <Input {...props} autoComplete="off" spellCheck={false} {...register('username')} />}
          </Field>
        )}
        {kind === 'header' && (
          <Field
            label={t('network.credentials.header')}
            error={errors.header && t('network.credentials.header_missing')}
          >
            {(props) => (
              <Input
                {...props}
                placeholder="X-Api-Key"
                autoComplete="off"
                spellCheck={false}
                className="font-mono"
                {...register('header', { required: true })}
              />
            )}
          </Field>
        )}
        <Field
          label={t('network.credentials.value')}
          hint={t('network.credentials.value_hint')}
          error={errors.value && t('network.credentials.value_invalid')}
        >
          {(props) => (
            <Input
              {...props}
              type="password"
              autoComplete="new-password"
              {...register('value', { required: true, minLength: MIN_VALUE_CHARACTERS })}
            />
          )}
        </Field>
      </div>
      {scope !== 'server' && (
        <label className="flex items-center gap-2 text-sm">
          <input type="checkbox" className="size-4 accent-accent" {...register('allow')} />
          {t('network.credentials.allow')}
        </label>
      )}
      {save.isError && <ErrorState error={save.error} title={t('network.save_failed')} />}
      <div className="flex gap-2">
        <Button type="submit" variant="primary" isBusy={save.isPending}>
          {t('network.credentials.save')}
        </Button>
        <Button onClick={onDone}>{t('network.credentials.cancel')}</Button>
      </div>
    </form>
  )
}

function defaults(replaced?: NetworkCredential): NetworkCredentialInput {
  return {
    host: replaced?.host ?? '',
    port: replaced?.port ?? 443,
    path_prefix: replaced?.path_prefix ?? '',
    scope: replaced?.scope ?? 'user',
    repository: replaced?.repository ?? null,
    kind: replaced?.kind ?? 'bearer',
    username: replaced?.username ?? '',
    header: replaced?.header ?? '',
    value: '',
    allow: true,
  }
}

/** Returns the data without the values of fields that the form no longer shows. */
function cleaned(given: NetworkCredentialInput): NetworkCredentialInput {
  return {
    ...given,
    repository: given.scope === 'repository' ? given.repository : null,
    username: given.kind === 'basic' ? given.username : '',
    header: given.kind === 'header' ? given.header : '',
  }
}
