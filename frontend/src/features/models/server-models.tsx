import { useTranslation } from 'react-i18next'
import { useListModels, type ListModelsVariables } from '@/api/models/model-list'
import { Button } from '@/ui/form/button'
import { ErrorState } from '@/ui/feedback/error-state'

export interface ServerModelsProps {
  /** The id of the list of suggestions. The model's field refers to this id. */
  listId: string
  /** The prefix before a model's name. It says which vendor or program serves the model, such as `openai`. */
  vendor: string
  /** Returns the server to ask. It is called when the user presses the button. */
  server: () => ListModelsVariables
}

/** Suggests the models that the server at the base URL offers. */
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
