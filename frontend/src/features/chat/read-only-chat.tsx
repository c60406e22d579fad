import { useMemo } from 'react'
import { useConversation } from '@/events/use-conversation'
import { ComposerDraftProvider } from './composer/composer-draft'
import { ConnectionBanner } from './notices/connection-banner'
import { ItemRendererProvider } from './timeline/item-renderer'
import { RowStateProvider } from './timeline/row-state'
import { itemRows } from './timeline/rows'
import { Timeline } from './timeline/timeline'
import { ItemBody } from './timeline/timeline-row'

/** The timeline without controls that load more data or change something. */
export function ReadOnlyChat({ conversationId }: { conversationId: string }) {
  const items = useConversation((state) => state.view.items)
  const rows = useMemo(() => itemRows(items, false), [items])
  return (
    <ComposerDraftProvider conversationId={conversationId}>
      <div className="flex h-full min-h-0 flex-col">
        <ConnectionBanner />
        <RowStateProvider>
          <ItemRendererProvider value={ItemBody}>
            <Timeline rows={rows} start={null} />
          </ItemRendererProvider>
        </RowStateProvider>
      </div>
    </ComposerDraftProvider>
  )
}
