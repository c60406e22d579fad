import type { ComponentType } from 'react'
import type { RouteObject } from 'react-router'
import { LoadingPage } from './routes/loading-page'
import { RouteError } from './routes/route-error'
import { Shell } from './routes/shell'

export const SIGN_IN_PATH = '/sign-in'

/** Every address of the app. The code of a page is loaded when the page is first visited. */
export const routes: RouteObject[] = [
  {
    errorElement: <RouteError />,
    hydrateFallbackElement: <LoadingPage />,
    children: [
      { path: SIGN_IN_PATH, lazy: page(() => import('./routes/sign-in').then((m) => m.SignInRoute)) },
      { path: 'linked', lazy: page(() => import('./routes/linked').then((m) => m.LinkedRoute)) },
      {
        element: <Shell />,
        children: [
          {
            errorElement: <RouteError />,
            children: [
              { index: true, lazy: page(() => import('./routes/home').then((m) => m.HomeRoute)) },
              {
                path: 'conversations',
                lazy: page(() => import('./routes/conversations').then((m) => m.ConversationsRoute)),
              },
              {
                path: 'conversations/:conversationId',
                lazy: page(() => import('./routes/conversation').then((m) => m.ConversationRoute)),
              },
              { path: 'device', lazy: page(() => import('./routes/device').then((m) => m.DeviceRoute)) },
              {
                path: 'settings/mcp-servers/callback',
                lazy: page(() => import('./routes/mcp-sign-in').then((m) => m.McpSignInRoute)),
              },
              {
                path: 'settings/git-hosts/callback',
                lazy: page(() => import('./routes/git-sign-in').then((m) => m.GitSignInRoute)),
              },
              {
                path: 'settings/:section?',
                lazy: page(() => import('./routes/settings').then((m) => m.SettingsRoute)),
              },
              { path: '*', lazy: page(() => import('./routes/not-found').then((m) => m.NotFoundRoute)) },
            ],
          },
        ],
      },
    ],
  },
]

function page(load: () => Promise<ComponentType>) {
  return async () => ({ Component: await load() })
}
