import { useTranslation } from 'react-i18next'
import { SectionHeader } from '@/ui/layout/section-header'
import { ServerSkills } from './server-skills'
import { SkillCatalogue } from './skill-catalogue'

/** The skills that new conversations load, and the catalogue of skills that can be installed. */
export function SkillsSection() {
  const { t } = useTranslation()
  return (
    <section aria-label={t('skills.title')}>
      <SectionHeader title={t('skills.title')} lead={t('skills.lead')} />
      <ServerSkills />
      <SkillCatalogue />
    </section>
  )
}
