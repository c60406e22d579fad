import { useQuery } from '@tanstack/react-query'
import { Plug, Plus } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  mcpServersQuery,
  useDeleteMcpServer,
  useSwitchMcpServer,
  type NamedMcpServer,
} from '@/api/agents/mcp-servers'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { EmptyState } from '@/ui/feedback/empty-state'
import { ErrorState } from '@/ui/feedback/error-state'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { ServerDialog } from './server-dialog'
import { ServerRow } from './server-row'

/** The MCP servers that the user's agents can use. */
export function McpServersSection() {
  const { t } = useTranslation()
  const query = useQuery(mcpServersQuery())
  const change = useSwitchMcpServer()
  const [edited, setEdited] = useState<NamedMcpServer | 'new' | null>(null)
  const [doomed, setDoomed] = useState<NamedMcpServer | null>(null)

  const addButton = (
    <Button variant="primary" icon={<Plus className="size-4" />} onClick={() => setEdited('new')}>
      {t('mcp_servers.add')}
    </Button>
  )

  return (
    <section aria-label={t('mcp_servers.title')}>
      <SectionHeader title={t('mcp_servers.title')} lead={t('mcp_servers.lead')} action={addButton} />
      {query.isPending && <SkeletonList rows={2} label={t('mcp_servers.loading')} className="h-16" />}
      {query.isError && !query.data && (
        <ErrorState
          error={query.error}
          title={t('mcp_servers.load_failed')}
          onRetry={() => void query.refetch()}
        />
      )}
      {query.data && (
        <Card>
          {query.data.length === 0 ? (
            <EmptyState icon={<Plug />} title={t('mcp_servers.empty')}>
              {t('mcp_servers.empty_hint')}
            </EmptyState>
          ) : (
            <ul className="divide-y divide-border">
              {query.data.map((server) => (
                <ServerRow
                  key={server.name}
                  server={server}
                  onSwitch={() => change.mutate({ name: server.name, enabled: !server.enabled })}
                  onEdit={() => setEdited(server)}
                  onDelete={() => setDoomed(server)}
                />
              ))}
            </ul>
          )}
        </Card>
      )}
      {edited && (
        <ServerDialog server={edited === 'new' ? undefined : edited} onClose={() => setEdited(null)} />
      )}
      {doomed && <DeleteServer server={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

function DeleteServer({ server, onClose }: { server: NamedMcpServer; onClose: () => void }) {
  const { t } = useTranslation()
  const remove = useDeleteMcpServer()
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('mcp_servers.delete_title', { name: server.name })}
      description={t('mcp_servers.delete_text')}
      confirmLabel={t('mcp_servers.delete_confirm')}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate(server.name, { onSuccess: onClose })}
    />
  )
}
