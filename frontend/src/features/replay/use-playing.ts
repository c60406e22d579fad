import { useEffect, useState } from 'react'
import { pauseBefore, type Step } from './steps'

export const SPEEDS = [1, 2, 4, 16] as const
export type Speed = (typeof SPEEDS)[number]

export interface Playing {
  isPlaying: boolean
  speed: Speed
  setSpeed: (speed: Speed) => void
  /** Starts or stops playing. At the end, playing starts again at the beginning. */
  toggle: () => void
  /** Goes to a step and stops. */
  goTo: (index: number) => void
}

/** Goes automatically from step to step while it plays. `index` is the current step. */
export function usePlaying(
  steps: readonly Step[],
  index: number,
  setIndex: (index: number) => void,
): Playing {
  const [wantsToPlay, setWantsToPlay] = useState(false)
  const [speed, setSpeed] = useState<Speed>(1)
  const last = steps.length - 1
  const isPlaying = wantsToPlay && index < last
  useEffect(() => {
    const [here, next] = [steps[index], steps[index + 1]]
    if (!isPlaying || here === undefined || next === undefined) return
    const timer = window.setTimeout(() => setIndex(index + 1), pauseBefore(here, next, speed))
    return () => window.clearTimeout(timer)
  }, [isPlaying, steps, index, setIndex, speed])
  return {
    isPlaying,
    speed,
    setSpeed,
    toggle: () => {
      if (!isPlaying && index >= last) setIndex(0)
      setWantsToPlay(!isPlaying)
    },
    goTo: (wanted) => {
      setWantsToPlay(false)
      setIndex(Math.min(Math.max(wanted, 0), Math.max(last, 0)))
    },
  }
}
