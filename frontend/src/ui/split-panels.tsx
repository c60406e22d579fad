import clsx from 'clsx'
import { useId, useState, type ReactNode } from 'react'
import { readStored, writeStored } from '@/lib/stored'
import { MAX_SHARE, MIN_SHARE, PanelDivider } from './panel-divider'
import { panelId, TabBar, tabId } from './tab-bar'

export interface Panel {
  label: string
  content: ReactNode
}

export interface SplitPanelsProps {
  main: Panel
  side: Panel
  /** Side by side with a divider, or one at a time behind tabs. */
  isSplit: boolean
  /** Where the browser remembers the position of the divider. */
  storageKey: string
  label: string
  dividerLabel: string
  /** Share of the main panel in percent, until the user moves the divider. */
  initialShare?: number
}

/**
 * Two panels that stay mounted and laid out, also behind a tab and when the window gets narrow: what was
 * scrolled or opened in them stays. The side panel is first built when it is first shown.
 */
export function SplitPanels(props: SplitPanelsProps) {
  const { main, side, isSplit, storageKey, label, dividerLabel, initialShare = 50 } = props
  const base = useId()
  const [share, setShare] = useState(() => readShare(storageKey) ?? initialShare)
  const [tab, setTab] = useState<'main' | 'side'>('main')
  const [wasSideShown, setWasSideShown] = useState(isSplit)
  if (isSplit && !wasSideShown) setWasSideShown(true)

  function handleTab(next: 'main' | 'side') {
    setTab(next)
    if (next === 'side') setWasSideShown(true)
  }
  function handleMove(next: number) {
    setShare(next)
    writeStored(storageKey, next)
  }

  const mainTab = { value: 'main' as const, label: main.label }
  const sideTab = { value: 'side' as const, label: side.label }
  const panel = (value: 'main' | 'side') => ({
    id: panelId(base, value),
    role: 'tabpanel',
    'aria-labelledby': tabId(base, value),
  })
  const hidden = (value: 'main' | 'side') => !isSplit && tab !== value && ({ visibility: 'hidden' } as const)
  return (
    <div className="flex h-full min-h-0 flex-col">
      {!isSplit && (
        <TabBar
          label={label}
          value={tab}
          onValueChange={handleTab}
          tabs={[mainTab, sideTab]}
          panelBase={base}
        />
      )}
      <div className="relative flex min-h-0 flex-1">
        <div
          {...(!isSplit && panel('main'))}
          className={isSplit ? 'h-full min-w-0' : 'absolute inset-0'}
          style={{ ...(isSplit && { width: `${share}%` }), ...hidden('main') }}
        >
          {main.content}
        </div>
        {isSplit && (
          <PanelDivider
            label={dividerLabel}
            share={share}
            onMove={handleMove}
            onReset={() => handleMove(initialShare)}
          />
        )}
        <div
          className={clsx('flex flex-col', isSplit ? 'h-full min-w-0 flex-1' : 'absolute inset-0')}
          style={{ ...hidden('side') }}
        >
          {isSplit && (
            <TabBar label={label} value="side" onValueChange={() => {}} tabs={[sideTab]} panelBase={base} />
          )}
          <div {...panel('side')} className="min-h-0 flex-1 overflow-auto">
            {wasSideShown && side.content}
          </div>
        </div>
      </div>
    </div>
  )
}

function readShare(storageKey: string): number | null {
  const stored = readStored(storageKey)
  return typeof stored === 'number' && stored >= MIN_SHARE && stored <= MAX_SHARE ? stored : null
}
