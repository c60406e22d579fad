import { Braces, Ellipsis, GitFork, History, Link2 } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import type { TimelineItem } from '@/events/fold/reduce'
import { DropdownMenu, MenuItem } from '@/ui/overlay/dropdown-menu'
import { useEventActions } from './row-actions'

export interface EventMenuProps {
  item: TimelineItem
  showsRaw: boolean
  onToggleRaw: () => void
}

/** The menu with the actions for one event of the timeline. */
export function EventMenu({ item, showsRaw, onToggleRaw }: EventMenuProps) {
  const { t } = useTranslation()
  const { onCopyLink, onReplay, onFork } = useEventActions()
  const id = item.type === 'tool' ? item.action.id : item.event.id
  // If a copy ended between a call and its result, the call would look failed. So the copy includes the
  // result.
  const lastId = item.type === 'tool' ? (item.outcome?.id ?? id) : id
  return (
    <DropdownMenu
      trigger={
        <button
          type="button"
          aria-label={t('chat.event_menu')}
          className="absolute top-1 -right-7 flex size-6 items-center justify-center rounded-md text-faint opacity-0 group-hover/row:opacity-100 hover:bg-hover hover:text-text focus-visible:opacity-100 data-[state=open]:opacity-100 max-sm:-right-3.5 max-sm:opacity-50 pointer-coarse:opacity-50"
        >
          <Ellipsis aria-hidden className="size-3.5 max-sm:rotate-90" />
        </button>
      }
    >
      {onCopyLink && (
        <MenuItem icon={<Link2 />} onSelect={() => onCopyLink(id)}>
          {t('chat.copy_link')}
        </MenuItem>
      )}
      {onReplay && (
        <MenuItem icon={<History />} onSelect={() => onReplay(item.seq)}>
          {t('chat.replay_from_here')}
        </MenuItem>
      )}
      {onFork && (
        <MenuItem icon={<GitFork />} onSelect={() => onFork(lastId)}>
          {t('chat.fork_from_here')}
        </MenuItem>
      )}
      <MenuItem icon={<Braces />} onSelect={onToggleRaw}>
        {t(showsRaw ? 'chat.hide_raw_event' : 'chat.raw_event')}
      </MenuItem>
    </DropdownMenu>
  )
}
