import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type Marketplace, type MarketplaceContents, useMarketplaceContents } from '@/api/agents/marketplaces'
import { Badge } from '@/ui/feedback/badge'
import { Button } from '@/ui/form/button'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'

export interface MarketplaceRowProps {
  marketplace: Marketplace
  isShared: boolean
  mayChange: boolean
  isBusy: boolean
  /** Called with the changed marketplace. Without an argument, the marketplace is removed. */
  onChange: (changed?: Marketplace) => void
}

export function MarketplaceRow({ marketplace, isShared, mayChange, isBusy, onChange }: MarketplaceRowProps) {
  const { t } = useTranslation()
  const [isDoomed, setDoomed] = useState(false)
  const contents = useMarketplaceContents()
  const { name, source, ref, repo_path: path, auto_load: isLoaded } = marketplace
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-60">
          <p className="flex flex-wrap items-center gap-2 font-medium">
            <span className="wrap-anywhere">{name}</span>
            {isLoaded && <Badge tone="success">{t('marketplaces.loaded')}</Badge>}
            {isShared && <Badge>{t('marketplaces.for_everyone')}</Badge>}
          </p>
          <p className="text-xs wrap-anywhere text-muted">
            {[source, ref, path].filter(Boolean).join(' · ')}
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          <Button
            size="sm"
            isBusy={contents.isPending}
            aria-label={t('marketplaces.look_named', { name })}
            onClick={() => contents.mutate(marketplace)}
          >
            {t('marketplaces.look')}
          </Button>
          {mayChange && (
            <>
              <Button
                size="sm"
                disabled={isBusy}
                aria-label={t(isLoaded ? 'marketplaces.unload_named' : 'marketplaces.load_named', { name })}
                onClick={() => onChange({ ...marketplace, auto_load: !isLoaded })}
              >
                {t(isLoaded ? 'marketplaces.unload' : 'marketplaces.load')}
              </Button>
              <Button
                size="sm"
                aria-label={t('marketplaces.remove_named', { name })}
                onClick={() => setDoomed(true)}
              >
                {t('marketplaces.remove')}
              </Button>
            </>
          )}
        </div>
      </div>
      {contents.isError && <ErrorState error={contents.error} title={t('marketplaces.look_failed')} />}
      {contents.data && <MarketplaceContentList contents={contents.data} />}
      {isDoomed && (
        <ConfirmDialog
          isOpen
          onOpenChange={() => setDoomed(false)}
          title={t('marketplaces.remove_title', { name })}
          description={t('marketplaces.remove_text')}
          confirmLabel={t('marketplaces.remove')}
          onConfirm={() => {
            setDoomed(false)
            onChange()
          }}
        />
      )}
    </li>
  )
}

function MarketplaceContentList({ contents }: { contents: MarketplaceContents }) {
  const { t } = useTranslation()
  const entries = [
    ...contents.plugins.map(({ name, description, source }) => ({
      kind: 'plugin' as const,
      name,
      text: description ?? source,
    })),
    ...contents.skills.map(({ name, source }) => ({ kind: 'skill' as const, name, text: source })),
  ]
  return (
    <div className="mt-3 flex flex-col gap-3">
      {entries.length === 0 && <p className="text-sm text-muted">{t('marketplaces.nothing')}</p>}
      {entries.length > 0 && (
        <ul className="flex flex-col gap-1.5 text-sm">
          {entries.map(({ kind, name, text }) => (
            <li key={`${kind} ${name}`} className="flex flex-wrap items-baseline gap-x-2">
              <Badge>{t(`marketplaces.${kind}`)}</Badge>
              <span className="font-medium wrap-anywhere">{name}</span>
              <span className="min-w-0 text-xs wrap-anywhere text-muted">{text}</span>
            </li>
          ))}
        </ul>
      )}
      {contents.errors.length > 0 && (
        <Notice tone="warning" title={t('marketplaces.problems')}>
          <ul>
            {contents.errors.map((error) => (
              <li key={error}>{error}</li>
            ))}
          </ul>
        </Notice>
      )}
    </div>
  )
}
