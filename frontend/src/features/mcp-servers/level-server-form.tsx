import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useSaveLevelItem, type AdministeredItem } from '@/api/people/level-items'
import { DescriptionField } from '@/ui/form/description-field'
import { EnforceField } from '@/ui/form/enforce-field'
import { ServerFields } from './server-form'
import { toServer, type ServerFormValues } from './server-schema'

export interface LevelServerFormProps {
  item: AdministeredItem | undefined
  teamId: string | null
  onClose: () => void
}

/** Adds an MCP server of the organisation or a team, or changes one. */
export function LevelServerForm({ item, teamId, onClose }: LevelServerFormProps) {
  const { t } = useTranslation()
  const save = useSaveLevelItem()
  const [isEnforced, setIsEnforced] = useState(item?.enforced ?? false)
  const [description, setDescription] = useState(item?.description ?? '')
  const stored = item?.mcp_server ? { ...item.mcp_server, name: item.name } : undefined

  function handleSubmit(values: ServerFormValues) {
    // The form replaces the whole server, so the fields that the form does not show must be sent, too.
    const kept = stored && {
      timeout: stored.timeout,
      enabled: stored.enabled,
      ...(stored.cwd && { cwd: stored.cwd }),
    }
    const body = {
      ...kept,
      ...toServer(values, stored),
      description: description.trim() || null,
      enforced: isEnforced,
    }
    save.mutate({ kind: 'mcp_server', name: values.name, teamId, body }, { onSuccess: onClose })
  }

  return (
    <ServerFields
      server={stored}
      canSignIn={false}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={handleSubmit}
      onCancel={onClose}
    >
      <DescriptionField
        label={t('level_items.description')}
        description={description}
        onChange={setDescription}
      />
      <EnforceField isEnforced={isEnforced} onChange={setIsEnforced} />
    </ServerFields>
  )
}
