import { Copy, ExternalLink, RotateCw } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import type { PortLink } from '@/api/sandboxes/ports'
import { copyText } from '@/lib/browser/copy-text'
import { formatDateTime } from '@/lib/text/time'
import { IconButton } from '@/ui/form/icon-button'
import { BasePath } from './base-path'

const ALLOWED = 'allow-scripts allow-forms allow-modals allow-popups allow-downloads'

export interface PageFrameProps {
  sandboxId: string
  port: number
  link: PortLink
  isListening: boolean
  onReload: () => void
}

/**
 * The page of one port in a frame. An agent wrote the page, so it must not be able to read or navigate the
 * page around it.
 */
export function PageFrame({ sandboxId, port, link, isListening, onReload }: PageFrameProps) {
  const { t } = useTranslation()
  const end = formatDateTime(link.expires_at)
  // A page with a separate host name may use the storage of its origin. A page below our host name must not
  // get our origin.
  const isElsewhere = new URL(link.url, window.location.href).origin !== window.location.origin

  async function handleCopy() {
    if (await copyText(link.url)) toast.success(t('preview.copied', { end }))
    else toast.error(t('preview.copy_refused'))
  }

  return (
    <>
      <div className="flex min-h-11 shrink-0 items-center gap-1 border-b border-border bg-surface px-3">
        <p className="min-w-0 flex-1 truncate text-xs text-muted">
          {isListening ? t('preview.until', { end }) : t('preview.stopped', { port })}
        </p>
        <IconButton
          size="sm"
          label={t('preview.reload')}
          icon={<RotateCw aria-hidden className="size-4" />}
          onClick={onReload}
        />
        {!isElsewhere && <BasePath sandboxId={sandboxId} port={port} link={link} />}
        <IconButton
          size="sm"
          label={t('preview.copy')}
          icon={<Copy aria-hidden className="size-4" />}
          onClick={() => void handleCopy()}
        />
        <a
          href={link.url}
          target="_blank"
          rel="noreferrer"
          aria-label={t('preview.new_tab')}
          title={t('preview.new_tab')}
          className="inline-flex size-8 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-text"
        >
          <ExternalLink aria-hidden className="size-4" />
        </a>
      </div>
      <iframe
        src={link.url}
        title={t('preview.page', { port })}
        sandbox={isElsewhere ? `${ALLOWED} allow-same-origin` : ALLOWED}
        referrerPolicy="no-referrer"
        // Pages that set no background expect a white background.
        className="min-h-0 w-full flex-1 border-0 bg-white"
      />
    </>
  )
}
