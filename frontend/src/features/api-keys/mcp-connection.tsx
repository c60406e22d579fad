import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { toast } from 'sonner'
import { copyText } from '@/lib/browser/copy-text'
import { Card } from '@/ui/layout/card'
import { IconButton } from '@/ui/form/icon-button'
import { ScrollPre } from '@/ui/text/scroll-pre'
import { SectionHeader } from '@/ui/layout/section-header'

/** Explains how other programs connect to the MCP server of this installation. */
export function McpConnection() {
  const { t } = useTranslation()
  const address = `${window.location.origin}/mcp`
  const header = `Authorization: Bearer ${t('api_keys.mcp_your_key')}`
  const cursor = {
    mcpServers: {
      slipway: { url: address, headers: { Authorization: `Bearer ${t('api_keys.mcp_your_key')}` } },
    },
  }
  return (
    <section aria-label={t('api_keys.mcp_title')} className="mt-10">
      <SectionHeader title={t('api_keys.mcp_title')} lead={t('api_keys.mcp_lead')} />
      <Card className="space-y-4 p-4">
        <Snippet label={t('api_keys.mcp_address')} text={address} />
        <Snippet
          label={t('api_keys.mcp_claude')}
          text={`claude mcp add --transport http slipway ${address} --header "${header}"`}
        />
        <Snippet label={t('api_keys.mcp_cursor')} text={JSON.stringify(cursor, null, 2)} />
      </Card>
    </section>
  )
}

function Snippet({ label, text }: { label: string; text: string }) {
  const { t } = useTranslation()
  const [isCopied, setCopied] = useState(false)

  async function handleCopy() {
    const copied = await copyText(text)
    setCopied(copied)
    if (!copied) toast.error(t('action.copy_failed'))
  }

  return (
    <div>
      <div className="flex items-center justify-between gap-2">
        <p className="text-sm font-medium">{label}</p>
        <IconButton
          label={t(isCopied ? 'action.copied' : 'api_keys.mcp_copy', { label })}
          icon={isCopied ? <Check className="size-4" /> : <Copy className="size-4" />}
          size="sm"
          onClick={() => void handleCopy()}
        />
      </div>
      <ScrollPre
        role="region"
        aria-label={label}
        className="rounded-md border border-border bg-sunken p-3 font-mono text-xs"
      >
        {text}
      </ScrollPre>
    </div>
  )
}
