import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import {
  administeredItemsQuery,
  useDeleteLevelItem,
  type AdministeredItem,
  type ItemKind,
} from '@/api/people/level-items'
import { teamsQuery } from '@/api/people/teams'
import { currentUserQuery, isAdministrator } from '@/api/people/users'
import { Button } from '@/ui/form/button'
import { Field } from '@/ui/form/field'
import { Select } from '@/ui/form/select'
import { Card } from '@/ui/layout/card'
import { ErrorState } from '@/ui/feedback/error-state'
import { SkeletonList } from '@/ui/feedback/skeleton'
import { ConfirmDialog } from '@/ui/overlay/confirm-dialog'
import { Dialog } from '@/ui/overlay/dialog'
import { AdministeredItemRow } from './administered-item-row'
import { InheritedItems } from './inherited-items'

export interface ItemFormProps {
  /** The item to change. It is undefined for a new item. */
  item: AdministeredItem | undefined
  /** The team that owns the item. Null for the organisation. */
  teamId: string | null
  onClose: () => void
}

export interface LevelItemsSectionProps {
  kind: ItemKind
  form: (props: ItemFormProps) => ReactNode
}

/** The items that the organisation and its teams give to their members. Administrators change them here. */
export function LevelItemsSection({ kind, form }: LevelItemsSectionProps) {
  const me = useQuery(currentUserQuery()).data
  if (me === undefined) return null
  return isAdministrator(me) ? <Administered kind={kind} form={form} /> : <InheritedItems kind={kind} />
}

function Administered({ kind, form }: LevelItemsSectionProps) {
  const { t } = useTranslation()
  const query = useQuery(administeredItemsQuery())
  const teams = useQuery(teamsQuery()).data ?? []
  const [chosen, setChosen] = useState('')
  const [edited, setEdited] = useState<AdministeredItem | 'new' | null>(null)
  const [doomed, setDoomed] = useState<AdministeredItem | null>(null)
  const teamId = chosen || null
  const items = query.data?.filter((item) => item.kind === kind && item.team_id === teamId)
  return (
    <section aria-label={t(`level_items.title_${kind}`)} className="mt-10">
      <h3 className="text-base font-semibold">{t(`level_items.title_${kind}`)}</h3>
      <p className="mt-1 mb-3 max-w-lg text-sm text-muted">{t(`level_items.lead_${kind}`)}</p>
      <div className="mb-4 flex flex-wrap items-end gap-3">
        <Field label={t('level_items.level')} className="w-full max-w-xs">
          {(control) => (
            <Select {...control} value={chosen} onChange={(event) => setChosen(event.target.value)}>
              <option value="">{t('organisation.everyone')}</option>
              {teams.map(({ id, name }) => (
                <option key={id} value={id}>
                  {t('organisation.team', { name })}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Button icon={<Plus className="size-4" />} onClick={() => setEdited('new')}>
          {t(`level_items.add_${kind}`)}
        </Button>
      </div>
      {query.isPending && <SkeletonList rows={2} label={t('level_items.loading')} className="h-14" />}
      {query.isError && !query.data && (
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      )}
      {items && (
        <Card>
          {items.length === 0 ? (
            <p className="px-4 py-3 text-sm text-muted">{t('level_items.none')}</p>
          ) : (
            <ul className="divide-y divide-border">
              {items.map((item) => (
                <AdministeredItemRow
                  key={item.name}
                  item={item}
                  onEdit={() => setEdited(item)}
                  onDelete={() => setDoomed(item)}
                />
              ))}
            </ul>
          )}
        </Card>
      )}
      {edited && (
        <Dialog
          isOpen
          onOpenChange={() => setEdited(null)}
          title={
            edited === 'new'
              ? t(`level_items.add_${kind}`)
              : t('level_items.edit_title', { name: edited.name })
          }
          description={t(`level_items.form_${kind}`)}
        >
          {form({ item: edited === 'new' ? undefined : edited, teamId, onClose: () => setEdited(null) })}
        </Dialog>
      )}
      {doomed && <DeleteItem item={doomed} onClose={() => setDoomed(null)} />}
    </section>
  )
}

function DeleteItem({ item, onClose }: { item: AdministeredItem; onClose: () => void }) {
  const { t } = useTranslation()
  const remove = useDeleteLevelItem()
  const { kind, name, team_id: teamId } = item
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={onClose}
      title={t('level_items.delete_title', { name })}
      description={t('level_items.delete_text')}
      confirmLabel={t('action.delete')}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ kind, name, teamId }, { onSuccess: onClose })}
    />
  )
}
