import type { UseFormRegisterReturn } from 'react-hook-form'
import { useTranslation } from 'react-i18next'
import { type GitProvider, USUAL_HOSTS } from '@/api/git/git-credentials'
import { Field } from '@/ui/form/field'
import { Input } from '@/ui/form/input'
import { Select } from '@/ui/form/select'

const HOST = /^(https?:\/\/)?[^\s/@?#]+\/?$/i
export const HOST_RULES = { required: true, pattern: HOST }
export const ADDRESS = /^https?:\/\/[^\s@?#]+$/i

/**
 * Returns the host to show when the user chooses another provider. It is the usual host of the provider,
 * unless the user has typed a host.
 */
export function hostOf(chosen: GitProvider, current: string): string {
  return Object.values(USUAL_HOSTS).includes(current) ? USUAL_HOSTS[chosen] : current
}

export interface ProviderAndHostProps {
  providers: readonly GitProvider[]
  providerLabel: string
  provider: UseFormRegisterReturn
  hostLabel: string
  host: UseFormRegisterReturn
  isHostInvalid: boolean
}

export function ProviderAndHost(props: ProviderAndHostProps) {
  const { t } = useTranslation()
  return (
    <>
      <Field label={props.providerLabel}>
        {(control) => (
          <Select {...control} {...props.provider}>
            {props.providers.map((name) => (
              <option key={name} value={name}>
                {t(`git_hosts.providers.${name}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={props.hostLabel} error={props.isHostInvalid && t('git_hosts.host_invalid')}>
        {(control) => (
          <Input
            {...control}
            placeholder="github.com"
            autoComplete="off"
            spellCheck={false}
            className="font-mono"
            {...props.host}
          />
        )}
      </Field>
    </>
  )
}
