import clsx from 'clsx'
import { useId, useState, type ReactNode } from 'react'
import { readStored, writeStored } from '@/lib/browser/local-storage'
import { MAX_SHARE, MIN_SHARE, PanelDivider } from './panel-divider'
import { panelId, TabBar, tabId } from './tab-bar'

export interface Panel {
  label: string
  content: ReactNode
}

export interface SidePanel extends Panel {
  value: string
}

export interface SplitPanelsProps {
  main: Panel
  /** The side panels, at least one. If there are several, one of them is visible at a time. */
  sides: readonly SidePanel[]
  /**
   * If true, the panels are side by side with a divider. If false, one panel is visible at a time, behind
   * tabs.
   */
  isSplit: boolean
  /** The key under which the browser stores the position of the divider. */
  storageKey: string
  label: string
  dividerLabel: string
  /** The share of the main panel in percent, until the user moves the divider. */
  initialShare?: number
}

const MAIN = 'main'

/**
 * Panels that stay mounted and laid out, even when they are behind a tab or the window becomes narrow. This
 * keeps their scroll position and their opened parts. A side panel is mounted when it is shown for the first
 * time.
 */
export function SplitPanels(props: SplitPanelsProps) {
  const { main, sides, isSplit, storageKey, label, dividerLabel, initialShare = 50 } = props
  const base = useId()
  const [share, setShare] = useState(() => readShare(storageKey) ?? initialShare)
  const [tab, setTab] = useState(MAIN)
  const [lastSide, setLastSide] = useState(sides[0]?.value)
  const [shown, setShown] = useState<ReadonlySet<string>>(new Set())
  const side = sides.find(({ value }) => value === lastSide) ?? sides[0]
  const visible = isSplit ? side?.value : tab
  if (visible !== undefined && !shown.has(visible)) setShown(new Set([...shown, visible]))

  function handleTab(next: string) {
    setTab(next)
    if (next !== MAIN) setLastSide(next)
  }
  function handleMove(next: number) {
    setShare(next)
    writeStored(storageKey, next)
  }

  const sideTabs = sides.map((each) => ({ value: each.value, label: each.label }))
  const panel = (value: string) => ({
    id: panelId(base, value),
    role: 'tabpanel',
    'aria-labelledby': tabId(base, value),
  })
  const hidden = (isHidden: boolean) => isHidden && ({ visibility: 'hidden' } as const)
  return (
    <div className="flex h-full min-h-0 flex-col">
      {!isSplit && (
        <TabBar
          label={label}
          value={tab}
          onValueChange={handleTab}
          tabs={[{ value: MAIN, label: main.label }, ...sideTabs]}
          panelBase={base}
        />
      )}
      <div className="relative flex min-h-0 flex-1">
        <div
          {...(!isSplit && panel(MAIN))}
          className={isSplit ? 'h-full min-w-0' : 'absolute inset-0'}
          style={{ ...(isSplit && { width: `${share}%` }), ...hidden(!isSplit && tab !== MAIN) }}
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
          style={{ ...hidden(!isSplit && tab === MAIN) }}
        >
          {isSplit && (
            <TabBar
              label={label}
              value={side?.value ?? ''}
              onValueChange={handleTab}
              tabs={sideTabs}
              panelBase={base}
            />
          )}
          <div className="relative min-h-0 flex-1">
            {sides.map((each) => (
              <div
                key={each.value}
                {...panel(each.value)}
                className="absolute inset-0 overflow-auto"
                style={{ ...hidden(visible !== each.value) }}
              >
                {shown.has(each.value) && each.content}
              </div>
            ))}
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
