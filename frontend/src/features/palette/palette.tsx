import { useInfiniteQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { LayoutList, MessageSquare, Plus, SlidersHorizontal } from 'lucide-react'
import { Dialog as Primitive } from 'radix-ui'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { conversationTitle } from '@/api/conversations/conversation-title'
import { conversationsQuery } from '@/api/conversations/conversations'
import { SETTINGS_SECTIONS } from '@/lib/settings-sections'
import { setTheme, type ThemeChoice } from '@/lib/browser/theme'
import { useDebounced } from '@/lib/hooks/use-debounced'

const SEARCH_DELAY_MS = 150
const THEMES: ThemeChoice[] = ['system', 'light', 'dark']
const GROUP =
  '[&_[cmdk-group-heading]]:eyebrow [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1'

/**
 * The command palette: the user types to find pages, conversations and themes. Its code is loaded when it is
 * first opened.
 */
export function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const [search, setSearch] = useState('')
  const { data } = useInfiniteQuery(
    conversationsQuery({ words: useDebounced(search.trim(), SEARCH_DELAY_MS), archived: null }),
  )
  const conversations = data?.pages.flatMap((page) => page.items) ?? []

  function go(path: string) {
    onClose()
    void navigate(path)
  }

  return (
    <Primitive.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Primitive.Portal>
        <Primitive.Overlay className="fixed inset-0 z-40 bg-scrim" />
        <Primitive.Content
          aria-describedby={undefined}
          className="fixed top-[12vh] left-1/2 z-40 w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 rounded-xl border border-border bg-raised shadow-overlay outline-none"
        >
          <Primitive.Title className="sr-only">{t('palette.title')}</Primitive.Title>
          <Command label={t('palette.title')} loop>
            <Command.Input
              value={search}
              onValueChange={setSearch}
              placeholder={t('palette.placeholder')}
              className="h-12 w-full border-b border-border bg-transparent px-4 text-base outline-none"
            />
            <Command.List className="max-h-[min(24rem,60vh)] overflow-y-auto p-2">
              <Command.Empty className="p-6 text-center text-sm text-muted">
                {t('palette.empty')}
              </Command.Empty>
              <Command.Group heading={t('palette.go_to')} className={GROUP}>
                <Item icon={<Plus />} label={t('nav.new_task')} onSelect={() => go('/')} />
                <Item
                  icon={<LayoutList />}
                  label={t('nav.all_conversations')}
                  onSelect={() => go('/conversations')}
                />
                {SETTINGS_SECTIONS.map(({ path, label, icon: Icon }) => (
                  <Item
                    key={path}
                    icon={<Icon />}
                    label={t(label)}
                    onSelect={() => go(`/settings/${path}`)}
                  />
                ))}
              </Command.Group>
              {conversations.length > 0 && (
                <Command.Group heading={t('palette.conversations')} className={GROUP}>
                  {conversations.map((conversation) => (
                    <Item
                      key={conversation.id}
                      value={conversation.id}
                      icon={<MessageSquare />}
                      label={conversationTitle(t, conversation)}
                      keywords={[search]}
                      onSelect={() => go(`/conversations/${conversation.id}`)}
                    />
                  ))}
                </Command.Group>
              )}
              <Command.Group heading={t('palette.theme')} className={GROUP}>
                {THEMES.map((theme) => (
                  <Item
                    key={theme}
                    icon={<SlidersHorizontal />}
                    label={t('palette.theme_item', { theme: t(`theme.${theme}`) })}
                    onSelect={() => {
                      setTheme(theme)
                      onClose()
                    }}
                  />
                ))}
              </Command.Group>
            </Command.List>
          </Command>
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}

interface ItemProps {
  icon: ReactNode
  label: string
  /** A unique value for entries that have the same label. */
  value?: string
  /** More words that match this entry, for a conversation that the app server found by a message. */
  keywords?: string[]
  onSelect: () => void
}

function Item({ icon, label, value, keywords, onSelect }: ItemProps) {
  return (
    <Command.Item
      value={value ? `${label} ${value}` : label}
      keywords={keywords}
      onSelect={onSelect}
      className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2 text-sm data-[selected=true]:bg-hover *:[svg]:size-4 *:[svg]:shrink-0 *:[svg]:text-muted"
    >
      {icon}
      <span className="truncate">{label}</span>
    </Command.Item>
  )
}
