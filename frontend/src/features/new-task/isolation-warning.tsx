import { useTranslation } from 'react-i18next'
import type { WebClientConfig } from '@/api/types'
import { Notice } from '@/ui/notice'

/** Says so where commands of the agent run without a wall around them. */
export function IsolationWarning({ sandbox }: { sandbox: WebClientConfig['sandbox'] }) {
  const { t } = useTranslation()
  if (sandbox.is_isolated) return null
  return (
    <Notice tone="warning" title={t('home.not_isolated')}>
      {sandbox.warning}
    </Notice>
  )
}
