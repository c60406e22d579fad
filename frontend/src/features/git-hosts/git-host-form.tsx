import { Plus } from 'lucide-react'
import { useForm, useWatch } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import {
  GIT_PROVIDERS,
  type GitCredentialInput,
  type GitProvider,
  PUSH_SCOPES,
  USUAL_HOSTS,
  useSaveGitCredential,
} from '@/api/git-credentials'
import { Button } from '@/ui/button'
import { ErrorState } from '@/ui/error-state'
import { Field } from '@/ui/field'
import { Input } from '@/ui/input'
import { Select } from '@/ui/select'

const HOST = /^(https?:\/\/)?[^\s/@?#]+\/?$/i
const API_URL = /^https?:\/\/[^\s@?#]+$/i
const MIN_TOKEN_CHARACTERS = 4

/** Adds a token; the same host again replaces it. What was typed is forgotten once it is saved. */
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
        username: '',
        push_scope: 'own',
      },
    })
  const provider = useWatch({ control, name: 'provider' })
  const choose = (chosen: GitProvider) => {
    const isUsual = Object.values(USUAL_HOSTS).includes(getValues('host'))
    if (isUsual) setValue('host', USUAL_HOSTS[chosen])
  }
  const { errors } = formState
  const submit = handleSubmit((given) => save.mutate(given, { onSuccess: () => reset() }))
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className="mb-5 flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t('git_hosts.provider')}>
          {(control) => (
            <Select {...control} {...register('provider', { onChange: () => choose(getValues('provider')) })}>
              {GIT_PROVIDERS.map((name) => (
                <option key={name} value={name}>
                  {t(`git_hosts.providers.${name}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t('git_hosts.host')} error={errors.host && t('git_hosts.host_invalid')}>
          {(control) => (
            <Input
              {...control}
              placeholder="github.com"
              autoComplete="off"
              spellCheck={false}
              className="font-mono"
              {...register('host', { required: true, pattern: HOST })}
            />
          )}
        </Field>
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
              {...register('api_url', { pattern: API_URL })}
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
      {save.isError && <ErrorState error={save.error} title={t('git_hosts.save_failed')} />}
      <div>
        <Button type="submit" variant="primary" icon={<Plus className="size-4" />} isBusy={save.isPending}>
          {t('git_hosts.save')}
        </Button>
      </div>
    </form>
  )
}
