import { Ellipsis, LogIn, Pencil, PlugZap, Power, Trash2, Unplug } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import {
  useDisconnectMcpServer,
  useStartMcpSignIn,
  useTestMcpServer,
  type NamedMcpServer,
} from '@/api/agents/mcp-servers'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { DropdownMenu, MenuItem, MenuSeparator } from '@/ui/overlay/dropdown-menu'
import { ErrorState } from '@/ui/feedback/error-state'
import { TestReport } from './test-report'

export interface ServerRowProps {
  server: NamedMcpServer
  onSwitch: () => void
  onEdit: () => void
  onDelete: () => void
}

/** A server with its state. The result of a test is shown below it. */
export function ServerRow({ server, onSwitch, onEdit, onDelete }: ServerRowProps) {
  const { t } = useTranslation()
  const test = useTestMcpServer()
  const connect = useStartMcpSignIn()
  const disconnect = useDisconnectMcpServer()
  const { name } = server
  const readable = Object.keys(server.env).filter((variable) => !server.env_hosts[variable]?.length)
  const wantsSignIn = server.auth !== null && server.sign_in !== 'connected'

  function handleConnect() {
    connect.mutate(name, {
      onSuccess: ({ authorization_url }) => window.location.assign(authorization_url),
    })
  }

  return (
    <li className="flex flex-col gap-3 px-4 py-3">
      <div className="flex items-center gap-3">
        <div className="min-w-0 flex-1">
          <p className="flex flex-wrap items-center gap-2 font-medium">
            <span className="wrap-anywhere">{name}</span>
            <ServerBadges server={server} />
          </p>
          <p className="truncate font-mono text-xs leading-5 text-muted">{whereOf(server)}</p>
        </div>
        {wantsSignIn && (
          <Button
            size="sm"
            variant="primary"
            icon={<LogIn className="size-3.5" />}
            aria-label={t('mcp_servers.connect_named', { name })}
            isBusy={connect.isPending || connect.isSuccess}
            onClick={handleConnect}
          >
            {t('mcp_servers.connect')}
          </Button>
        )}
        {server.transport === 'http' && !wantsSignIn && (
          <Button
            size="sm"
            icon={<PlugZap className="size-3.5" />}
            aria-label={t('mcp_servers.test_named', { name })}
            isBusy={test.isPending}
            onClick={() => test.mutate(name)}
          >
            {t('mcp_servers.test')}
          </Button>
        )}
        <DropdownMenu
          trigger={
            <button
              type="button"
              aria-label={t('mcp_servers.actions', { name })}
              className="inline-flex size-9 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-text"
            >
              <Ellipsis aria-hidden className="size-4" />
            </button>
          }
        >
          <MenuItem icon={<Power />} onSelect={onSwitch}>
            {t(server.enabled ? 'mcp_servers.switch_off' : 'mcp_servers.switch_on')}
          </MenuItem>
          <MenuItem icon={<Pencil />} onSelect={onEdit}>
            {t('action.edit')}
          </MenuItem>
          {(server.sign_in === 'connected' || server.sign_in === 'more_wanted') && (
            <MenuItem icon={<Unplug />} onSelect={() => disconnect.mutate(name)}>
              {t('mcp_servers.disconnect')}
            </MenuItem>
          )}
          <MenuSeparator />
          <MenuItem icon={<Trash2 />} isDanger onSelect={onDelete}>
            {t('action.delete')}
          </MenuItem>
        </DropdownMenu>
      </div>
      {readable.length > 0 && (
        <p className="text-sm wrap-anywhere text-muted">
          {t('mcp_servers.readable', { names: readable.join(', ') })}
        </p>
      )}
      {server.sign_in === 'more_wanted' && (
        <p className="text-sm text-muted">
          {server.wanted_scope
            ? t('mcp_servers.wants_scope', { scope: server.wanted_scope })
            : t('mcp_servers.wants_more')}
        </p>
      )}
      {connect.isError && (
        <ErrorState error={connect.error} title={t('mcp_servers.connect_failed', { name })} />
      )}
      {test.isError && <ErrorState error={test.error} title={t('mcp_servers.test_failed', { name })} />}
      {test.data && <TestReport name={name} report={test.data} />}
    </li>
  )
}

function ServerBadges({ server }: { server: NamedMcpServer }) {
  const { t } = useTranslation()
  return (
    <>
      {server.enabled ? (
        <Badge tone="success">{t('mcp_servers.on')}</Badge>
      ) : (
        <Badge>{t('mcp_servers.off')}</Badge>
      )}
      {server.sign_in === 'none' && <Badge tone="warning">{t('mcp_servers.not_connected')}</Badge>}
      {server.sign_in === 'expired' && <Badge tone="danger">{t('mcp_servers.expired')}</Badge>}
      {server.sign_in === 'more_wanted' && <Badge tone="warning">{t('mcp_servers.more_wanted')}</Badge>}
      {server.sign_in === 'connected' && <Badge tone="accent">{t('mcp_servers.connected')}</Badge>}
      {server.transport === 'stdio' && <Badge>{t('mcp_servers.in_sandbox')}</Badge>}
    </>
  )
}

function whereOf({ url, command, args }: NamedMcpServer): string {
  return url ?? [command, ...args].join(' ')
}
