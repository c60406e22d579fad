import clsx from 'clsx'
import { ChevronDown, ChevronRight, Ellipsis, Pencil, Trash2 } from 'lucide-react'
import { useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Team } from '@/api/people/teams'
import { Badge } from '@/ui/feedback/badge'
import { DropdownMenu, MenuItem, MenuSeparator } from '@/ui/overlay/dropdown-menu'
import { TeamMembers } from './team-members'
import { TeamRepositories } from './team-repositories'

export interface TeamRowProps {
  team: Team
  /** Opens the form that renames the team. It is left out for people who may not change teams. */
  onRename?: () => void
  onDelete?: () => void
}

/** A team. A click on its name shows its members and its repositories. */
export function TeamRow({ team, onRename, onDelete }: TeamRowProps) {
  const { t } = useTranslation()
  const [isOpen, setIsOpen] = useState(false)
  const membersId = useId()
  const Chevron = isOpen ? ChevronDown : ChevronRight
  return (
    <li className="px-4 py-3">
      <div className="flex items-center gap-2">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={membersId}
          onClick={() => setIsOpen(!isOpen)}
          className="flex min-w-0 flex-1 items-center gap-2 rounded-md py-1 text-left"
        >
          <Chevron aria-hidden className="size-4 shrink-0 text-muted" />
          <span className={clsx('min-w-0 font-medium', isOpen ? 'break-words' : 'truncate')}>
            {team.name}
          </span>
          {team.is_member && <Badge>{t('teams.yours')}</Badge>}
          <span className="shrink-0 text-xs text-muted">
            {t('teams.members_count', { count: team.member_count })}
          </span>
        </button>
        {onRename && onDelete && (
          <DropdownMenu
            trigger={
              <button
                type="button"
                aria-label={t('teams.actions', { name: team.name })}
                className="inline-flex size-9 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-text"
              >
                <Ellipsis aria-hidden className="size-4" />
              </button>
            }
          >
            <MenuItem icon={<Pencil />} onSelect={onRename}>
              {t('teams.rename')}
            </MenuItem>
            <MenuSeparator />
            <MenuItem icon={<Trash2 />} isDanger onSelect={onDelete}>
              {t('teams.delete')}
            </MenuItem>
          </DropdownMenu>
        )}
      </div>
      <div id={membersId}>
        {isOpen && (
          <>
            <TeamMembers team={team} mayChange={onRename !== undefined} />
            <TeamRepositories team={team} />
          </>
        )}
      </div>
    </li>
  )
}
