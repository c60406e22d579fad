import { useTranslation } from 'react-i18next'
import { CLONE_MODES, type CloneMode } from '@/api/git/cloning'
import type { SettingName, SettingValue } from '@/api/people/levels'
import { GROUPING_STRATEGIES, type GroupingStrategy } from '@/api/sandboxes/sandbox-grouping'
import { CONFIRMATION_MODES, type ConfirmationMode } from '@/api/types'
import { useDollars } from '@/lib/hooks/use-dollars'

export const TRAILERS = ['none', 'co_authored_by', 'assisted_by'] as const

/** The possible values of a setting. Settings that are missing here take a number or a name. */
export const CHOICES: Partial<Record<SettingName, readonly string[]>> = {
  confirmation_mode: CONFIRMATION_MODES,
  sandbox_grouping_strategy: GROUPING_STRATEGIES,
  commit_trailer: TRAILERS,
  clone: CLONE_MODES,
  submodules: ['true', 'false'],
}

/** Returns a function that gives the text for the value of a setting. */
export function useSettingTexts(): (name: SettingName, value: SettingValue) => string {
  const { t } = useTranslation()
  const dollars = useDollars()
  return (name, value) => {
    switch (name) {
      case 'confirmation_mode':
        return t(`confirmation_mode.${value as ConfirmationMode}`)
      case 'sandbox_grouping_strategy':
        return t(`sandbox_grouping.${value as GroupingStrategy}`)
      case 'commit_trailer':
        return t(`commit_identity.trailer_${value as (typeof TRAILERS)[number]}`)
      case 'clone':
        return t(`cloning.mode_${value as CloneMode}`)
      case 'submodules':
        return t(`cloning.submodules_${String(value) === 'true'}`)
      case 'max_budget_per_task':
      case 'monthly_budget':
        return dollars(Number(value))
      default:
        return String(value)
    }
  }
}
