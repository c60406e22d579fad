import { Check, Copy, FolderRoot } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { useCreateBasePath, type PortLink } from '@/api/sandboxes/ports'
import { copyText } from '@/lib/browser/copy-text'
import { formatDateTime } from '@/lib/text/time'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'
import { IconButton } from '@/ui/form/icon-button'
import { Popover } from '@/ui/overlay/popover'

export interface BasePathProps {
  sandboxId: string
  port: number
  /** The link of the shown page. */
  link: PortLink
}

/**
 * Shows a path with which the user can start a program. Some programs have pages that work below a path only
 * if the program knows the path.
 */
export function BasePath({ sandboxId, port, link }: BasePathProps) {
  const { t } = useTranslation()
  const created = useCreateBasePath(sandboxId)
  const shownLink = link.keeps_prefix ? link : created.data
  return (
    <Popover
      label={t('preview.base_path')}
      trigger={
        <IconButton
          size="sm"
          label={t('preview.base_path')}
          icon={<FolderRoot aria-hidden className="size-4" />}
        />
      }
    >
      <p className="text-sm font-medium">{t('preview.base_path')}</p>
      <p className="mt-1 text-xs text-muted">
        {link.keeps_prefix ? t('preview.base_path_known') : t('preview.base_path_hint')}
      </p>
      {shownLink && <Path link={shownLink} />}
      {!shownLink && (
        <Button size="sm" className="mt-2" isBusy={created.isPending} onClick={() => created.mutate(port)}>
          {t('preview.base_path_create')}
        </Button>
      )}
      {created.isError && (
        <ErrorState className="mt-2" error={created.error} onRetry={() => created.mutate(port)} />
      )}
    </Popover>
  )
}

function Path({ link }: { link: PortLink }) {
  const { t } = useTranslation()
  const [isCopied, setCopied] = useState(false)
  const path = new URL(link.url, window.location.href).pathname

  async function handleCopy() {
    const copied = await copyText(path)
    setCopied(copied)
    if (!copied) toast.error(t('action.copy_failed'))
  }

  return (
    <>
      <div className="mt-2 flex items-center gap-1 rounded-md border border-border bg-sunken py-0.5 pr-1 pl-2">
        <code className="min-w-0 flex-1 truncate text-xs" title={path}>
          {path}
        </code>
        <IconButton
          size="sm"
          label={isCopied ? t('action.copied') : t('preview.base_path_copy')}
          icon={isCopied ? <Check className="size-4 text-success" /> : <Copy className="size-4" />}
          onClick={() => void handleCopy()}
        />
      </div>
      <p className="mt-1 text-xs text-muted">
        {t('preview.base_path_until', { end: formatDateTime(link.expires_at) })}
      </p>
    </>
  )
}
