import { History, Undo2 } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/ui/form/button'
import { IconButton } from '@/ui/form/icon-button'
import { useAskToRestore, type RestoreTarget } from './restore-provider'

/** The button beside a message. It goes back to the state before the agent worked on the message. */
export function RestoreButton(target: RestoreTarget) {
  const { t } = useTranslation()
  const ask = useAskToRestore()
  return (
    <IconButton
      size="sm"
      label={t('checkpoints.restore')}
      icon={<History aria-hidden className="size-4" />}
      onClick={() => ask(target)}
    />
  )
}

export function UndoButton({ checkpoint }: { checkpoint: number }) {
  const { t } = useTranslation()
  const ask = useAskToRestore()
  return (
    <Button
      size="sm"
      variant="ghost"
      icon={<Undo2 aria-hidden className="size-3.5" />}
      onClick={() => ask({ checkpoint })}
    >
      {t('checkpoints.undo')}
    </Button>
  )
}
