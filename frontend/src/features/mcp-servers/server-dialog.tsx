import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import type { NamedMcpServer } from '@/api/agents/mcp-servers'
import { Dialog } from '@/ui/overlay/dialog'
import { ServerForm } from './server-form'

export interface ServerDialogProps {
  server?: NamedMcpServer
  onClose: () => void
}

/** Adds a server, or edits `server`. The dialog is open while it is mounted. */
export function ServerDialog({ server, onClose }: ServerDialogProps) {
  const { t } = useTranslation()
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={server ? t('mcp_servers.edit_title', { name: server.name }) : t('mcp_servers.add')}
      description={t('mcp_servers.form_lead')}
    >
      <ServerForm
        server={server}
        onCancel={onClose}
        onSaved={(name) => {
          toast.success(t('mcp_servers.saved', { name }))
          onClose()
        }}
      />
    </Dialog>
  )
}
