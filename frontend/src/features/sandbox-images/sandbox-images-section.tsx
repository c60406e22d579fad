import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { sandboxSpecSettingsQuery, sandboxSpecsQuery, SERVER_SPEC_ID } from '@/api/sandboxes/sandbox-specs'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { Notice } from '@/ui/feedback/notice'
import { SectionHeader } from '@/ui/layout/section-header'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { AddImage } from './add-image'
import { DefaultImages } from './default-images'
import { ImageRow } from './image-row'

/** The images for sandboxes, and the choice of the image for new sandboxes. */
export function SandboxImagesSection() {
  const { t } = useTranslation()
  const specs = useQuery(sandboxSpecsQuery())
  const settings = useQuery(sandboxSpecSettingsQuery())
  const failed = [specs, settings].find((query) => query.isError && !query.data)
  const own = specs.data?.filter((spec) => spec.level === 'user') ?? []
  const hasChoice = settings.data?.may_choose || specs.data?.some((spec) => spec.id !== SERVER_SPEC_ID)
  return (
    <section aria-label={t('images.title')}>
      <SectionHeader title={t('images.title')} lead={t('images.lead')} />
      {failed && <ErrorState error={failed.error} onRetry={() => void failed.refetch()} />}
      {!failed && !(specs.data && settings.data) && (
        <SkeletonList rows={3} label={t('images.loading')} className="h-16" />
      )}
      {specs.data && settings.data && (
        <div className="flex flex-col gap-8">
          {!settings.data.may_choose && (
            <Notice tone="neutral" title={t('images.not_yours')}>
              {settings.data.reason}
            </Notice>
          )}
          {hasChoice && <DefaultImages specs={specs.data} settings={settings.data} />}
          {own.length > 0 && (
            <section aria-label={t('images.yours')}>
              <h3 className="mb-3 font-medium">{t('images.yours')}</h3>
              <Card>
                <ul className="divide-y divide-border">
                  {own.map((spec) => (
                    <ImageRow key={spec.id} spec={spec} />
                  ))}
                </ul>
              </Card>
            </section>
          )}
          {settings.data.may_choose && <AddImage />}
        </div>
      )}
    </section>
  )
}
