import { Plus } from 'lucide-react'
import { useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { USUAL_HOSTS } from '@/api/git/git-credentials'
import { type GitAppInput, SIGN_IN_PROVIDERS, useSaveGitApp } from '@/api/git/git-sign-in'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Textarea } from '@/ui/form/textarea'
import { AUTHORITIES_RULES, CertificateAuthoritiesField, isSelfHosted } from './certificate-authorities'
import { ADDRESS, HOST_RULES, hostOf, ProviderAndHost } from './provider-and-host'

const TEXTS = ['client_id', 'client_secret', 'sign_in_url', 'api_url', 'scopes'] as const

/**
 * Registers an application. If the host has one already, the new application replaces it. The form is cleared
 * after saving.
 */
export function GitAppForm() {
  const { t } = useTranslation()
  const save = useSaveGitApp()
  const {
    register,
    handleSubmit,
    formState,
    reset,
    setValue,
    getValues,
    control: form,
  } = useForm<GitAppInput>({
    defaultValues: {
      provider: 'github',
      host: USUAL_HOSTS.github,
      client_id: '',
      client_secret: '',
      private_key: '',
      sign_in_url: '',
      api_url: '',
      scopes: '',
      certificate_authorities: '',
    },
  })
  const [provider, host] = useWatch({ control: form, name: ['provider', 'host'] })
  const { errors } = formState
  const rules = {
    client_id: { required: true, pattern: /^\S+$/ },
    client_secret: { minLength: 4 },
    sign_in_url: { pattern: ADDRESS },
    api_url: { pattern: ADDRESS },
    scopes: {},
  }
  const submit = handleSubmit((given) =>
    save.mutate(
      {
        ...given,
        private_key: given.provider === 'github' ? given.private_key : '',
        certificate_authorities: isSelfHosted(given.host) ? given.certificate_authorities : '',
      },
      { onSuccess: () => reset() },
    ),
  )
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="mb-5 flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <ProviderAndHost
          providers={SIGN_IN_PROVIDERS}
          providerLabel={t('git_apps.provider')}
          provider={register('provider', {
            onChange: () => setValue('host', hostOf(getValues('provider'), getValues('host'))),
          })}
          hostLabel={t('git_apps.host')}
          host={register('host', HOST_RULES)}
          isHostInvalid={Boolean(errors.host)}
        />
        {TEXTS.map((name) => (
          <Field
            key={name}
            label={t(`git_apps.${name}`)}
            hint={name !== 'client_id' && t(`git_apps.${name}_hint`)}
            error={errors[name] && t(`git_apps.${name}_invalid`, { defaultValue: '' })}
          >
            {(control) => (
              <Input
                {...control}
                type={name === 'client_secret' ? 'password' : 'text'}
                autoComplete={name === 'client_secret' ? 'new-password' : 'off'}
                spellCheck={false}
                className="font-mono"
                {...register(name, rules[name])}
              />
            )}
          </Field>
        ))}
      </div>
      {provider === 'github' && (
        <Field label={t('git_apps.private_key')} hint={t('git_apps.private_key_hint')}>
          {(control) => (
            <Textarea
              {...control}
              autoComplete="off"
              spellCheck={false}
              placeholder="-----BEGIN RSA PRIVATE KEY-----"
              className="max-h-40 font-mono"
              {...register('private_key')}
            />
          )}
        </Field>
      )}
      {isSelfHosted(host) && (
        <CertificateAuthoritiesField
          field={register('certificate_authorities', AUTHORITIES_RULES)}
          isInvalid={Boolean(errors.certificate_authorities)}
        />
      )}
      {save.isError && <ErrorState error={save.error} title={t('git_apps.save_failed')} />}
      <div>
        <Button type="submit" icon={<Plus className="size-4" />} isBusy={save.isPending}>
          {t('git_apps.save')}
        </Button>
      </div>
    </form>
  )
}
