import { ChevronFirst, ChevronLast, Link2, Pause, Play, StepBack, StepForward, X } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { formatDateTime } from '@/lib/text/time'
import { IconButton } from '@/ui/form/icon-button'
import { Select } from '@/ui/form/select'
import type { Step } from './steps'
import { SPEEDS, type Playing, type Speed } from './use-playing'

export interface ReplayControlsProps {
  steps: readonly Step[]
  index: number
  playing: Playing
  onCopyLink: () => void
  onClose: () => void
}

/** The slider of a replay, and the controls to play and stop it. */
export function ReplayControls({ steps, index, playing, onCopyLink, onClose }: ReplayControlsProps) {
  const { t } = useTranslation()
  const last = Math.max(steps.length - 1, 0)
  const at = steps[index]?.at
  const position = t('replay.position', { step: Math.min(index + 1, steps.length), count: steps.length })
  const icon = 'size-4'
  return (
    <div
      role="toolbar"
      aria-label={t('replay.controls')}
      className="shrink-0 border-t border-border bg-raised px-3 py-2 sm:px-6"
    >
      <div className="mx-auto flex w-full max-w-3xl flex-col gap-1">
        <input
          type="range"
          min={0}
          max={last}
          value={index}
          aria-label={t('replay.slider')}
          aria-valuetext={position}
          onChange={(event) => playing.goTo(Number(event.target.value))}
          className="h-6 w-full cursor-pointer accent-accent"
        />
        <div className="flex flex-wrap items-center gap-x-1 gap-y-0.5">
          <IconButton
            size="sm"
            label={t('replay.first')}
            icon={<ChevronFirst aria-hidden className={icon} />}
            disabled={index === 0}
            onClick={() => playing.goTo(0)}
            className="max-sm:hidden"
          />
          <IconButton
            size="sm"
            label={t('replay.back')}
            icon={<StepBack aria-hidden className={icon} />}
            disabled={index === 0}
            onClick={() => playing.goTo(index - 1)}
          />
          <IconButton
            size="sm"
            label={t(playing.isPlaying ? 'replay.pause' : 'replay.play')}
            icon={
              playing.isPlaying ? (
                <Pause aria-hidden className={icon} />
              ) : (
                <Play aria-hidden className={icon} />
              )
            }
            disabled={last === 0}
            onClick={playing.toggle}
            className="text-text"
          />
          <IconButton
            size="sm"
            label={t('replay.forward')}
            icon={<StepForward aria-hidden className={icon} />}
            disabled={index >= last}
            onClick={() => playing.goTo(index + 1)}
          />
          <IconButton
            size="sm"
            label={t('replay.last')}
            icon={<ChevronLast aria-hidden className={icon} />}
            disabled={index >= last}
            onClick={() => playing.goTo(last)}
            className="max-sm:hidden"
          />
          <Select
            aria-label={t('replay.speed')}
            value={String(playing.speed)}
            onChange={(event) => playing.setSpeed(Number(event.target.value) as Speed)}
            className="w-20"
          >
            {SPEEDS.map((speed) => (
              <option key={speed} value={speed}>
                {speed}×
              </option>
            ))}
          </Select>
          <p className="ml-2 min-w-0 flex-1 truncate text-xs text-muted tabular-nums">
            {position}
            {at !== undefined && <span className="ml-2 max-sm:hidden">{formatDateTime(at)}</span>}
          </p>
          <IconButton
            size="sm"
            label={t('replay.copy_link')}
            icon={<Link2 aria-hidden className={icon} />}
            onClick={onCopyLink}
          />
          <IconButton
            size="sm"
            label={t('replay.close')}
            icon={<X aria-hidden className={icon} />}
            onClick={onClose}
          />
        </div>
      </div>
    </div>
  )
}
