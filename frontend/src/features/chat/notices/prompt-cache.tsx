import clsx from 'clsx'
import { TriangleAlert } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { AppConversation } from '@/api/types'
import { Popover } from '@/ui/overlay/popover'

/**
 * Shows how much of the last prompts came from the vendor's cache. If this share has fallen, it warns with
 * the likely cause.
 */
export function PromptCache({ cache }: { cache: NonNullable<AppConversation['prompt_cache']> }) {
  const { t } = useTranslation()
  const percent = Math.floor(cache.hit_rate * 100)
  return (
    <Popover
      align="start"
      label={t('chat.cache.label')}
      trigger={
        <button
          type="button"
          className={clsx(
            'flex items-center gap-1 rounded-sm py-1 hover:text-text',
            cache.cause && 'text-warning',
          )}
        >
          {cache.cause && <TriangleAlert aria-hidden className="size-3" />}
          {t('chat.cache.share', { percent })}
        </button>
      }
    >
      <div className="space-y-2 text-xs text-muted">
        <p>{t('chat.cache.detail', { calls: cache.calls, percent })}</p>
        {cache.cause && (
          <>
            <p>{t('chat.cache.missed', { count: cache.misses })}</p>
            <p className="text-text">{t(`chat.cache.cause.${cache.cause}`)}</p>
          </>
        )}
      </div>
    </Popover>
  )
}
