import { Plus } from 'lucide-react'
import { useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import {
  GIT_PROVIDERS,
  type GitCredentialInput,
  PUSH_SCOPES,
  USUAL_HOSTS,
  useSaveGitCredential,
} from '@/api/git/git-credentials'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'
import { AUTHORITIES_RULES, CertificateAuthoritiesField, isSelfHosted } from './certificate-authorities'
import { ADDRESS, HOST_RULES, hostOf, ProviderAndHost } from './provider-and-host'

const MIN_TOKEN_CHARACTERS = 4

/** Adds a token. If the host has one already, the new token replaces it. The form is cleared after saving. */
export function GitHostForm() {
  const { t } = useTranslation()
  const save = useSaveGitCredential()
  const { register, handleSubmit, formState, reset, setValue, getValues, control } =
    useForm<GitCredentialInput>({
      defaultValues: {
        provider: 'github',
        host: USUAL_HOSTS.github,
        token: '',
        api_url: '',
        certificate_authorities: '',
        username: '',
        push_scope: 'own',
      },
    })
  const [provider, host] = useWatch({ control, name: ['provider', 'host'] })
  const { errors } = formState
  const submit = handleSubmit((given) =>
    save.mutate(
      { ...given, certificate_authorities: isSelfHosted(given.host) ? given.certificate_authorities : '' },
      { onSuccess: () => reset() },
    ),
  )
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="mb-5 flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <ProviderAndHost
          providers={GIT_PROVIDERS}
          providerLabel={t('git_hosts.provider')}
          provider={register('provider', {
            onChange: () => setValue('host', hostOf(getValues('provider'), getValues('host'))),
          })}
          hostLabel={t('git_hosts.host')}
          host={register('host', HOST_RULES)}
          isHostInvalid={Boolean(errors.host)}
        />
        <Field
          label={t('git_hosts.token')}
          hint={t(`git_hosts.needed_scopes.${provider}`)}
          error={errors.token && t('git_hosts.token_invalid')}
        >
          {(control) => (
            <Input
              {...control}
              type="password"
              autoComplete="new-password"
              {...register('token', { required: true, minLength: MIN_TOKEN_CHARACTERS })}
            />
          )}
        </Field>
        <Field
          label={t('git_hosts.username')}
          hint={t(provider === 'bitbucket' ? 'git_hosts.username_hint_bitbucket' : 'git_hosts.username_hint')}
        >
          {(control) => (
            <Input {...control} autoComplete="off" spellCheck={false} {...register('username')} />
          )}
        </Field>
        <Field
          label={t('git_hosts.api_url')}
          hint={t('git_hosts.api_url_hint')}
          error={errors.api_url && t('git_hosts.api_url_invalid')}
        >
          {(control) => (
            <Input
              {...control}
              autoComplete="off"
              spellCheck={false}
              className="font-mono"
              {...register('api_url', { pattern: ADDRESS })}
            />
          )}
        </Field>
        <Field label={t('git_hosts.push_scope')} hint={t('git_hosts.push_scope_hint')}>
          {(control) => (
            <Select {...control} {...register('push_scope')}>
              {PUSH_SCOPES.map((scope) => (
                <option key={scope} value={scope}>
                  {t(`git_hosts.scopes.${scope}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      {isSelfHosted(host) && (
        <CertificateAuthoritiesField
          field={register('certificate_authorities', AUTHORITIES_RULES)}
          isInvalid={Boolean(errors.certificate_authorities)}
        />
      )}
      {save.isError && <ErrorState error={save.error} title={t('git_hosts.save_failed')} />}
      <div>
        <Button type="submit" variant="primary" icon={<Plus className="size-4" />} isBusy={save.isPending}>
          {t('git_hosts.save')}
        </Button>
      </div>
    </form>
  )
}
