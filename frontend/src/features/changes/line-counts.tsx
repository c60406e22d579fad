import { useTranslation } from 'react-i18next'

export function LineCounts({ additions, deletions }: { additions: number; deletions: number }) {
  const { t } = useTranslation()
  return (
    <span
      role="img"
      className="font-mono text-xs tabular-nums"
      aria-label={t('changes.counts', { added: additions, removed: deletions })}
    >
      <span className="text-success">+{additions}</span> <span className="text-danger">−{deletions}</span>
    </span>
  )
}
