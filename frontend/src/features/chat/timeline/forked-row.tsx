import { GitFork } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import type { Forked } from '@/events/fold/forked'
import { formatDateTime } from '@/lib/text/time'
import { Marker } from './marker'

/** The row that says that the events above were copied from another conversation. */
export function ForkedRow({ forked: { originalId, asOf }, at }: { forked: Forked; at: string }) {
  const { t } = useTranslation()
  return (
    <div>
      <Marker
        icon={<GitFork aria-hidden />}
        text={t('marker.forked', { time: formatDateTime(asOf) })}
        at={at}
      />
      <p className="text-center text-xs text-muted">
        <Link to={`/conversations/${originalId}`} className="underline hover:text-text">
          {t('marker.forked_original')}
        </Link>
      </p>
    </div>
  )
}
