import { History } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { Rewind } from '@/events/fold/rewind'
import { Marker } from './marker'
import { RewindAction } from './row-actions'

/** The row for a rewind of files, of the chat or of both. */
export function RewindRow({ rewind, at }: { rewind: Rewind; at: string }) {
  const { t } = useTranslation()
  const what = rewind.chat && !rewind.files ? 'chat' : rewind.chat ? 'both' : 'files'
  return (
    <div>
      <div className="flex items-center gap-2">
        <div className="min-w-0 flex-1">
          <Marker
            icon={<History aria-hidden />}
            text={t(`marker.rewound_${what}`, { count: rewind.files ?? 0 })}
            at={at}
          />
        </div>
        <RewindAction rewind={rewind} />
      </div>
      {rewind.kept.length > 0 && (
        <p className="text-center text-xs wrap-anywhere text-muted">
          {t('marker.rewound_kept')} <span className="font-mono">{rewind.kept.join(', ')}</span>
        </p>
      )}
    </div>
  )
}
