import { Brain, ChevronRight } from 'lucide-react'
import { useTranslation } from 'react-i18next'

export interface ReasoningProps {
  text: string | null | undefined
  isOpen?: boolean
}

/** The model's reasoning before its reply. It is closed until the user opens it. */
export function Reasoning({ text, isOpen = false }: ReasoningProps) {
  const { t } = useTranslation()
  if (!text) return null
  return (
    <details open={isOpen} className="group/reasoning mb-2 text-sm text-muted">
      <summary className="flex w-fit cursor-pointer list-none items-center gap-1.5 rounded-sm hover:text-text">
        <Brain aria-hidden className="size-3.5" />
        {t('chat.reasoning')}
        <ChevronRight aria-hidden className="size-3.5 text-faint group-open/reasoning:rotate-90" />
      </summary>
      <p className="mt-1 max-h-96 overflow-y-auto border-l-2 border-border pl-3 whitespace-pre-wrap">
        {text}
      </p>
    </details>
  )
}
