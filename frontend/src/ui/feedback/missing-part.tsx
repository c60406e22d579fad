import { RotateCw } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { reloadIfServerThere } from '@/lib/browser/reload-once'
import { Button } from '@/ui/form/button'
import { Notice } from './notice'

/**
 * Replaces a part of the page that could not be loaded. Only a reload of the page loads the part again, and
 * the server must answer for that.
 */
export function MissingPart({ title }: { title?: string }) {
  const { t } = useTranslation()
  const [state, setState] = useState<'missing' | 'asking' | 'away'>('missing')
  async function handleRetry() {
    setState('asking')
    if (!(await reloadIfServerThere())) setState('away')
  }
  return (
    <Notice
      tone="danger"
      title={title ?? t('error.part_missing')}
      action={
        <Button
          size="sm"
          icon={<RotateCw className="size-3.5" />}
          isBusy={state === 'asking'}
          onClick={() => void handleRetry()}
        >
          {t('action.retry')}
        </Button>
      }
    >
      {t(state === 'away' ? 'error.part_away' : 'error.part_cause')}
    </Notice>
  )
}
