import { useTranslation } from 'react-i18next'
import { useListModels, type ListModelsVariables } from '@/api/models/model-list'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'

export interface ServerModelsProps {
  /** Of the list of suggestions that the model's field names. */
  listId: string
  /** Our word for who serves them, which stands before a model's name. */
  vendor: string
  /** Read when the button is pressed. */
  server: () => ListModelsVariables
}

/** Suggests the models that the server at the base URL has. */
export function ServerModels({ listId, vendor, server }: ServerModelsProps) {
  const { t } = useTranslation()
  const list = useListModels()
  const models = list.data?.models ?? []
  return (
    <div className="flex flex-col items-start gap-2">
      <datalist id={listId}>
        {models.map(({ id, context_window }) => (
          <option key={id} value={`${vendor}/${id}`}>
            {context_window ?? undefined}
          </option>
        ))}
      </datalist>
      <Button size="sm" isBusy={list.isPending} onClick={() => list.mutate(server())}>
        {t('models.list_models')}
      </Button>
      {list.data && (
        <p role="status" className="text-xs text-muted">
          {t('models.list_found', { count: models.length })}
        </p>
      )}
      {list.error && <ErrorState error={list.error} title={t('models.list_failed')} />}
    </div>
  )
}
