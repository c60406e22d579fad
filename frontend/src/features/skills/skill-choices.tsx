import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { type SkillChoice, skillChoicesQuery, useChooseSkill } from '@/api/agents/skill-catalogue'
import { ErrorState } from '@/ui/feedback/error-state'
import { Button } from '@/ui/form/button'
import { Card } from '@/ui/layout/card'

/** The skills that the user has switched on or off, including skills of repositories. */
export function SkillChoices() {
  const { t } = useTranslation()
  const choices = useQuery(skillChoicesQuery()).data ?? []
  const choose = useChooseSkill()
  if (choices.length === 0) return null
  return (
    <section aria-label={t('skills.choices')} className="mt-5">
      <h3 className="mb-3 font-semibold">{t('skills.choices')}</h3>
      {choose.isError && <ErrorState error={choose.error} title={t('skills.change_failed')} />}
      <Card>
        <ul className="divide-y divide-border">
          {choices.map((choice) => (
            <li
              key={`${choice.name} ${choice.repository}`}
              className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2 text-sm"
            >
              <span className="font-medium wrap-anywhere">{choice.name}</span>
              <span className="min-w-0 flex-1 basis-48 wrap-anywhere text-muted">{choiceText(choice)}</span>
              <Button
                size="sm"
                disabled={choose.isPending}
                aria-label={t('skills.forget_named', { name: choice.name, choice: choiceText(choice) })}
                onClick={() =>
                  choose.mutate({ name: choice.name, repository: choice.repository, is_enabled: null })
                }
              >
                {t('skills.forget')}
              </Button>
            </li>
          ))}
        </ul>
      </Card>
    </section>
  )

  function choiceText({ repository, is_enabled: isEnabled }: SkillChoice) {
    const choice = isEnabled ? 'skills.choice_on' : 'skills.choice_off'
    return repository ? t(`${choice}_in`, { repository }) : t(choice)
  }
}
