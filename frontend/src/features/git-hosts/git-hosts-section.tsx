import { useQuery } from '@tanstack/react-query'
import clsx from 'clsx'
import { GitBranch } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  type GitCredential,
  gitCredentialsQuery,
  hostUserQuery,
  PUSH_SCOPES,
  type PushScope,
  type RateLimit,
  useChangePushScope,
  useDeleteGitCredential,
} from '@/api/git/git-credentials'
import { ApiError } from '@/api/errors'
import { formatDateTime } from '@/lib/text/time'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { Select } from '@/ui/form/select'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { CertificateAuthoritiesDialog, isSelfHosted } from './certificate-authorities'
import { CloningSection } from './cloning'
import { CommitIdentitySection } from './commit-identity'
import { CommitSigningSection } from './commit-signing'
import { GitAppsSection } from './git-apps'
import { GitHostForm } from './git-host-form'
import { HostSignIn } from './host-sign-in'

/** The settings of git: access to git hosts, cloning, and the author and the signature of agents' commits. */
export function GitHostsSection() {
  return (
    <>
      <Tokens />
      <CloningSection />
      <CommitIdentitySection />
      <CommitSigningSection />
      <GitAppsSection />
    </>
  )
}

/** The stored tokens for git hosts. The list shows the hosts, and never the tokens. */
function Tokens() {
  const { t } = useTranslation()
  const query = useQuery(gitCredentialsQuery())
  const [doomed, setDoomed] = useState<GitCredential | null>(null)
  return (
    <section aria-label={t('git_hosts.title')}>
      <SectionHeader title={t('git_hosts.title')} lead={t('git_hosts.lead')} />
      <HostSignIn credentials={query.data ?? []} />
      <GitHostForm />
      {query.isPending && <SkeletonList rows={2} label={t('git_hosts.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data && (
        <Card>
          {query.data.length === 0 ? (
            <EmptyState icon={<GitBranch />} title={t('git_hosts.empty')}>
              {t('git_hosts.empty_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.map((credential) => (
                <HostRow key={credential.id} credential={credential} onDelete={() => setDoomed(credential)} />
              ))}
            </ul>
          )}
        </Card>
      )}
      {doomed && <DeleteToken credential={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

function HostRow({ credential, onDelete }: { credential: GitCredential; onDelete: () => void }) {
  const { t } = useTranslation()
  const change = useChangePushScope()
  const [isChangingTrust, setChangingTrust] = useState(false)
  const { host } = credential
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-72">
        <p className="flex flex-wrap items-center gap-2 font-mono text-sm font-medium">
          <span className="min-w-0 truncate">{host}</span>
          {credential.certificate_authorities && <Badge>{t('git_hosts.authorities_set')}</Badge>}
          {credential.needs_reconnect && <Badge tone="warning">{t('git_sign_in.reconnect')}</Badge>}
        </p>
        <HostUser credential={credential} />
        {credential.is_signed_in && <SignInFacts credential={credential} />}
      </div>
      <div className="flex min-w-0 flex-wrap items-center gap-2">
        <Select
          aria-label={t('git_hosts.push_scope_of', { host })}
          value={change.isPending ? change.variables.push_scope : credential.push_scope}
          disabled={change.isPending}
          onChange={(event) =>
            change.mutate({ id: credential.id, push_scope: event.target.value as PushScope })
          }
          className="min-w-0 sm:w-52"
        >
          {PUSH_SCOPES.map((scope) => (
            <option key={scope} value={scope}>
              {t(`git_hosts.scopes.${scope}`)}
            </option>
          ))}
        </Select>
        {isSelfHosted(host) && (
          <Button
            size="sm"
            aria-label={t('git_hosts.authorities_of', { host })}
            onClick={() => setChangingTrust(true)}
          >
            {t('git_hosts.authorities')}
          </Button>
        )}
        <Button
          size="sm"
          aria-label={t(credential.is_signed_in ? 'git_sign_in.disconnect_named' : 'git_hosts.delete_named', {
            host,
          })}
          onClick={onDelete}
        >
          {t(credential.is_signed_in ? 'git_sign_in.disconnect' : 'git_hosts.delete')}
        </Button>
      </div>
      {isChangingTrust && (
        <CertificateAuthoritiesDialog credential={credential} onClose={() => setChangingTrust(false)} />
      )}
    </li>
  )
}

/** The account at the host that the token belongs to, or the reason why the host does not name it. */
function HostUser({ credential }: { credential: GitCredential }) {
  const { t } = useTranslation()
  const { host, updated_at, provider } = credential
  const query = useQuery(hostUserQuery(host, updated_at))
  const kind = t(`git_hosts.providers.${provider}`)
  if (query.isPending) return <p className="text-sm text-muted">{t('git_hosts.checking', { kind })}</p>
  if (query.isError) {
    return (
      <p role="alert" className="text-sm text-danger">
        {kind} · {query.error.message}
        {query.error instanceof ApiError && query.error.fix && ` ${query.error.fix}`}
      </p>
    )
  }
  return (
    <p className="truncate text-sm text-muted">
      {t('git_hosts.connected_as', { kind, login: query.data.login })}
      {query.data.rate_limit && ` · ${callsLeft(query.data.rate_limit, t)}`}
    </p>
  )
}

/** Returns the text for the number of calls that the host still accepts. */
function callsLeft(calls: RateLimit, t: ReturnType<typeof useTranslation>['t']): string {
  const { remaining: count, limit, resets_at: end } = calls
  return [
    limit === null ? t('git_hosts.calls_left', { count }) : t('git_hosts.calls_left_of', { count, limit }),
    end && t('git_hosts.calls_until', { date: formatDateTime(end) }),
  ]
    .filter(Boolean)
    .join(' ')
}

/** The permissions that the host has granted, and whether the user must sign in again. */
function SignInFacts({ credential }: { credential: GitCredential }) {
  const { t } = useTranslation()
  const { scopes, needs_reconnect, installation_id } = credential
  return (
    <p className={clsx('text-xs', needs_reconnect ? 'text-warning' : 'text-muted')}>
      {needs_reconnect
        ? t('git_sign_in.reconnect_hint')
        : installation_id
          ? t('git_sign_in.installation', { id: installation_id, scopes })
          : scopes
            ? t('git_sign_in.granted', { scopes })
            : t('git_sign_in.by_sign_in')}
    </p>
  )
}

function DeleteToken({ credential, onClose }: { credential: GitCredential; onClose: () => void }) {
  const { t } = useTranslation()
  const remove = useDeleteGitCredential()
  const isSignedIn = credential.is_signed_in
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t(isSignedIn ? 'git_sign_in.disconnect_title' : 'git_hosts.delete_title', {
        host: credential.host,
      })}
      description={t(isSignedIn ? 'git_sign_in.disconnect_text' : 'git_hosts.delete_text')}
      confirmLabel={t(isSignedIn ? 'git_sign_in.disconnect' : 'git_hosts.delete_confirm')}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate(credential.id, { onSuccess: onClose })}
    />
  )
}
