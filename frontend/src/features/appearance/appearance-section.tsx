import { useTranslation } from 'react-i18next'
import { setTheme, useTheme } from '@/lib/browser/theme'
import { Card } from '@/ui/layout/card'
import { SectionHeader } from '@/ui/layout/section-header'
import { Segmented } from '@/ui/form/segmented'
import { NotificationsCard } from './notifications-card'
import { useThemeOptions } from './theme-options'

export function AppearanceSection() {
  const { t } = useTranslation()
  return (
    <section aria-label={t('appearance.title')}>
      <SectionHeader title={t('appearance.title')} lead={t('appearance.lead')} />
      <Card className="flex flex-wrap items-center justify-between gap-4 p-4">
        <div>
          <p className="font-medium">{t('appearance.theme')}</p>
          <p className="text-sm text-muted">{t('appearance.theme_hint')}</p>
        </div>
        <Segmented
          label={t('appearance.theme')}
          value={useTheme()}
          options={useThemeOptions()}
          onValueChange={setTheme}
        />
      </Card>
      <NotificationsCard />
    </section>
  )
}
