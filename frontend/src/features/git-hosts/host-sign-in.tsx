import { useQuery } from '@tanstack/react-query'
import { KeyRound, LogIn } from 'lucide-react'
import { useCallback, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { GitCredential } from '@/api/git/git-credentials'
import {
  type GitDeviceCode,
  type SignInHost,
  signInHostsQuery,
  useStartDeviceSignIn,
  useStartGitSignIn,
} from '@/api/git/git-sign-in'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { DeviceDialog } from './device-dialog'

/** The hosts that an administrator has prepared for the sign-in of users. Shows nothing if there are none. */
export function HostSignIn({ credentials }: { credentials: GitCredential[] }) {
  const hosts = useQuery(signInHostsQuery()).data ?? []
  if (hosts.length === 0) return null
  return (
    <Card className="mb-5">
      <ul className="divide-y divide-border">
        {hosts.map((host) => (
          <SignInRow
            key={host.app_id}
            host={host}
            isConnected={credentials.some((one) => one.host === host.host && one.is_signed_in)}
          />
        ))}
      </ul>
    </Card>
  )
}

function SignInRow({ host, isConnected }: { host: SignInHost; isConnected: boolean }) {
  const { t } = useTranslation()
  const connect = useStartGitSignIn()
  const device = useStartDeviceSignIn()
  const [code, setCode] = useState<GitDeviceCode | null>(null)
  const close = useCallback(() => setCode(null), [])
  const kind = t(`git_hosts.providers.${host.provider}`)
  const error = connect.error ?? device.error
  return (
    <li className="flex flex-col gap-3 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-40">
          <p className="text-sm font-medium">{kind}</p>
          <p className="truncate font-mono text-xs leading-5 text-muted">{host.host}</p>
        </div>
        <div className="flex flex-wrap gap-2">
          {host.has_device_flow && (
            <Button
              size="sm"
              icon={<KeyRound className="size-3.5" />}
              aria-label={t('git_sign_in.with_code_named', { host: host.host })}
              isBusy={device.isPending}
              onClick={() => device.mutate(host.app_id, { onSuccess: setCode })}
            >
              {t('git_sign_in.with_code')}
            </Button>
          )}
          <Button
            size="sm"
            variant={isConnected ? 'secondary' : 'primary'}
            icon={<LogIn className="size-3.5" />}
            aria-label={t('git_sign_in.connect_named', { host: host.host })}
            isBusy={connect.isPending || connect.isSuccess}
            onClick={() =>
              connect.mutate(host.app_id, {
                onSuccess: ({ authorization_url }) => window.location.assign(authorization_url),
              })
            }
          >
            {t(isConnected ? 'git_sign_in.connect_again' : 'git_sign_in.connect', { kind })}
          </Button>
        </div>
      </div>
      {error && <ErrorState error={error} title={t('git_sign_in.start_failed', { host: host.host })} />}
      {code && <DeviceDialog host={host.host} code={code} onClose={close} />}
    </li>
  )
}
