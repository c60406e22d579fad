import { useTranslation } from 'react-i18next'
import type { DiffLine } from '@/lib/text/line-diff'

/** The number of added and of removed lines. */
export function LineCounts({ lines }: { lines: readonly DiffLine[] }) {
  const { t } = useTranslation()
  const added = lines.filter((line) => line.type === 'added').length
  const removed = lines.filter((line) => line.type === 'removed').length
  return (
    <span className="font-mono" aria-label={t('changes.counts', { added, removed })}>
      <span className="text-success">+{added}</span> <span className="text-danger">−{removed}</span>
    </span>
  )
}
