import { useTranslation } from 'react-i18next'
import type { Restored } from '@/events/fold/restored'
import { formatDateTime } from '@/lib/text/time'
import { Notice } from '@/ui/feedback/notice'

/** The row that says that the machine was lost, and that the files are older than the events above. */
export function RestoredRow({ restored: { asOf, lostEvents } }: { restored: Restored }) {
  const { t } = useTranslation()
  const title = asOf ? t('restored.title', { time: formatDateTime(asOf) }) : t('restored.title_anew')
  return (
    <Notice tone="warning" title={title}>
      <p>{asOf ? t('restored.text', { count: lostEvents }) : t('restored.text_anew')}</p>
    </Notice>
  )
}
