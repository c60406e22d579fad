import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'react-router'
import { conversationQuery } from '@/api/conversations/conversations'
import { callableProfiles, profilesQuery } from '@/api/models/profiles'
import { currentUserQuery, mayWork } from '@/api/people/users'
import { webClientConfigQuery } from '@/api/web-client-config'
import { RecentConversations } from '@/features/conversations/recent-conversations'
import { SharedSandboxNotice } from '@/features/new-task/shared-sandbox-notice'
import { Composer } from '@/features/new-task/composer'
import { FirstRun } from '@/features/new-task/first-run'
import { IsolationWarning } from '@/features/new-task/isolation-warning'
import { SuggestedTasks } from '@/features/new-task/suggested-tasks'
import { useDocumentTitle } from '@/lib/hooks/use-document-title'
import { ErrorState } from '@/ui/feedback/error-state'
import { LinesDrawing } from '@/ui/drawings/lines-drawing'
import { Notice } from '@/ui/feedback/notice'
import { Skeleton } from '@/ui/feedback/skeleton'

const ModelDialog = lazy(() =>
  import('@/features/models/model-dialog').then((m) => ({ default: m.ModelDialog })),
)

/**
 * The page for a new task. `?beside=` names a conversation. The task then starts in the sandbox of this
 * conversation.
 */
export function HomeRoute() {
  const { t } = useTranslation()
  useDocumentTitle(t('nav.new_task'))
  const profiles = useQuery(profilesQuery())
  const config = useQuery(webClientConfigQuery())
  const sharedWithId = useSearchParams()[0].get('beside')
  const sharedWith = useQuery({ ...conversationQuery(sharedWithId ?? ''), enabled: sharedWithId !== null })
  const isFinding = sharedWithId !== null && sharedWith.isPending
  // The page waits for all data and shows everything at once. Otherwise late parts would push the form and
  // the parts below it down.
  const isLoading = profiles.isPending || config.isPending || isFinding
  const isLost = sharedWithId !== null && sharedWith.isError
  const [isAddingModel, setAddingModel] = useState(false)
  const user = useQuery(currentUserQuery()).data
  const isReader = user !== undefined && !mayWork(user)
  const hasModel = profiles.data?.profiles.some((profile) => !profile.is_recording) ?? true

  return (
    <div className="relative isolate min-h-full overflow-hidden">
      <LinesDrawing className="pointer-events-none absolute -top-24 -right-80 -z-10 hidden w-[60rem] text-border-strong opacity-30 lg:block" />
      <div className="mx-auto flex max-w-3xl flex-col gap-6 px-4 pt-10 pb-16 sm:px-8 lg:pt-[9vh]">
        <header className="flex flex-col gap-2">
          <h1 className="text-3xl font-semibold tracking-tight sm:text-4xl">
            {isReader ? t('home.read_only_title') : hasModel ? t('home.title') : t('first_run.title')}
          </h1>
          {!isReader && (
            <p className="max-w-xl text-muted">{hasModel ? t('home.lead') : t('first_run.lead')}</p>
          )}
        </header>
        {isReader && <Notice tone="neutral">{t('home.read_only')}</Notice>}
        {isLoading && <Skeleton className="h-72 rounded-xl" />}
        {!isLoading && config.data && <IsolationWarning sandbox={config.data.sandbox} />}
        {profiles.isError && !profiles.data && (
          <ErrorState
            error={profiles.error}
            title={t('error.load_profiles')}
            onRetry={() => void profiles.refetch()}
          />
        )}
        {isLost && (
          <ErrorState
            error={sharedWith.error}
            title={t('home.beside_lost')}
            onRetry={() => void sharedWith.refetch()}
          />
        )}
        {hasModel && !isLoading && sharedWithId !== null && sharedWith.data && (
          <SharedSandboxNotice conversation={sharedWith.data} />
        )}
        {!isReader &&
          profiles.data &&
          !isLoading &&
          !isLost &&
          (hasModel ? (
            <Composer
              profiles={callableProfiles(profiles.data)}
              activeProfile={profiles.data.active_profile}
              sharedWith={sharedWithId === null ? undefined : sharedWith.data}
            />
          ) : (
            <FirstRun demo={config.data?.demo ?? null} onAddModel={() => setAddingModel(true)} />
          ))}
        {!isLoading && !isReader && hasModel && sharedWithId === null && <SuggestedTasks />}
        {!isLoading && <RecentConversations />}
      </div>
      {isAddingModel && (
        <Suspense>
          <ModelDialog onClose={() => setAddingModel(false)} />
        </Suspense>
      )}
    </div>
  )
}
