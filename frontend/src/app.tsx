import { QueryClientProvider } from '@tanstack/react-query'
import { I18nextProvider } from 'react-i18next'
import { createBrowserRouter, RouterProvider } from 'react-router'
import { toast } from 'sonner'
import { errorDetail, isApiError } from './api/errors'
import { createQueryClient } from './api/query-client'
import { i18n } from './i18n/i18n'
import { storeDestination } from './lib/browser/sign-in-destination'
import { routes, SIGN_IN_PATH } from './routes'
import { ErrorBoundary } from './ui/feedback/error-boundary'
import { Toaster } from './ui/feedback/toaster'
import { TooltipProvider } from './ui/overlay/tooltip'

const TOOLTIP_DELAY_MS = 400

/** Makes the whole app with a separate router and cache. Each test makes a new app. */
export function createApp() {
  const router = createBrowserRouter(routes)
  const queryClient = createQueryClient({
    onSignedOut: (reason) => {
      if (router.state.location.pathname === SIGN_IN_PATH) return
      storeDestination(router.state.location)
      void router.navigate(SIGN_IN_PATH, { state: { reason } })
    },
    onMutationError: (error, repeat) =>
      toast.error(errorDetail(error), {
        description: isApiError(error) && error.fix,
        action: repeat && { label: i18n.t('error.try_again'), onClick: repeat },
      }),
  })

  function App() {
    return (
      <I18nextProvider i18n={i18n}>
        <ErrorBoundary title={i18n.t('error.boundary_app')}>
          <QueryClientProvider client={queryClient}>
            <TooltipProvider delayDuration={TOOLTIP_DELAY_MS}>
              <RouterProvider router={router} />
              <Toaster />
            </TooltipProvider>
          </QueryClientProvider>
        </ErrorBoundary>
      </I18nextProvider>
    )
  }
  return { App, router, queryClient }
}
