import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { commitIdentityQuery } from '@/api/git/commit-identity'
import { commitAddressQuery, useAddSigningKey } from '@/api/git/commit-signing'
import { type GitCredential, gitCredentialsQuery } from '@/api/git/git-credentials'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { Button } from '@/ui/form/button'

/**
 * The page of a host where users manage their keys. Azure DevOps is missing, because it does not verify
 * signatures.
 */
const PAGES: Partial<Record<GitCredential['provider'], string>> = {
  github: '/settings/ssh/new',
  gitlab: '/-/user_settings/ssh_keys',
  forgejo: '/user/settings/keys',
  bitbucket: '/account/settings/ssh-keys/',
  bitbucket_data_center: '/plugins/servlet/ssh/account/keys',
}
/**
 * The page of a host where users see and confirm their e-mail addresses. It exists only for hosts that report
 * which addresses are verified.
 */
const ADDRESS_PAGES: Partial<Record<GitCredential['provider'], string>> = {
  github: '/settings/emails',
  gitlab: '/-/profile/emails',
  forgejo: '/user/settings/account',
}
const WITH_CALL: readonly string[] = ['github', 'gitlab']

/**
 * The ways to add the key at each host: a button if the host has an API for it, and a link to the host's
 * page.
 */
export function SigningKeyHosts() {
  const hosts = useQuery(gitCredentialsQuery()).data ?? []
  const known = hosts.filter(({ provider }) => PAGES[provider])
  if (known.length === 0) return null
  return (
    <ul className="flex flex-col gap-2">
      {known.map((host) => (
        <Host key={host.id} credential={host} />
      ))}
    </ul>
  )
}

function Host({ credential: { host, provider } }: { credential: GitCredential }) {
  const { t } = useTranslation()
  const add = useAddSigningKey()
  const page = PAGES[provider]
  const origin = host.includes('://') ? host : `https://${host}`
  return (
    <li className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-3">
        {WITH_CALL.includes(provider) && (
          <Button size="sm" isBusy={add.isPending} onClick={() => add.mutate(host)}>
            {t('commit_signing.add_to', { host })}
          </Button>
        )}
        <a className="text-accent underline" href={`${origin}${page}`} target="_blank" rel="noreferrer">
          {t('commit_signing.keys_at', { host })}
        </a>
        {add.data && (
          <span role="status" className="text-muted">
            {t(add.data.is_new ? 'commit_signing.added' : 'commit_signing.was_there', { host })}
          </span>
        )}
      </div>
      {ADDRESS_PAGES[provider] && <AddressWarning host={host} page={`${origin}${ADDRESS_PAGES[provider]}`} />}
      {add.isError && <ErrorState error={add.error} title={t('commit_signing.not_added', { host })} />}
    </li>
  )
}

/** Says that the host shows signed commits as unverified, if the account has not verified their address. */
function AddressWarning({ host, page }: { host: string; page: string }) {
  const { t } = useTranslation()
  const email = useQuery(commitIdentityQuery()).data?.git_user_email
  const query = useQuery({ ...commitAddressQuery(host, email ?? ''), enabled: Boolean(email) })
  if (query.data?.is_verified !== false) return null
  return (
    <Notice tone="warning" title={t('commit_signing.address_unknown', { host, email: query.data.address })}>
      <p>{t('commit_signing.address_unknown_fix')}</p>
      <a className="text-accent underline" href={page} target="_blank" rel="noreferrer">
        {t('commit_signing.addresses_at', { host })}
      </a>
    </Notice>
  )
}
