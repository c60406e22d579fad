// An OpenID Connect provider for tests: `oidc-provider`, which is certified, with people who answer at once.
//
// node identity_provider.mjs PORT REDIRECT_URI LOGOUT_URI
//
// It signs in the person whose login stands in the `tests_login` cookie that a test sets. Accounts are told by
// their login: `ada.admins.example.org` is Ada, of the group `admins`, with an address at example.org.
// A request to /tests/refuse-next makes it refuse the next sign-in.

import { createRequire } from 'node:module'

const require = createRequire(new URL('../../frontend/package.json', import.meta.url))
const { Provider } = await import(require.resolve('oidc-provider'))

const [port, redirectUri, logoutUri] = process.argv.slice(2)
const issuer = `http://localhost:${port}`
let refuses = false

function claimsOf(login) {
  const [name, group, ...domain] = login.split('.')
  return {
    sub: `subject-of-${name}`,
    name: name[0].toUpperCase() + name.slice(1),
    groups: [group],
    email: `${name}@${domain.join('.')}`,
    email_verified: true,
  }
}

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'slipway',
      client_secret: 'client-secret-canary',
      redirect_uris: [redirectUri],
      backchannel_logout_uri: logoutUri,
      backchannel_logout_session_required: true,
    },
  ],
  claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
  pkce: { required: () => true },
  features: {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: true },
  },
  // Its own refuses addresses of this machine, where the Slipway of the test listens.
  fetch: (url, { dispatcher, ...options }) => fetch(url, options),
  findAccount: (_, id) => ({ accountId: claimsOf(id).sub && id, claims: () => claimsOf(id) }),
  interactions: { url: (_, interaction) => `/tests/interaction/${interaction.uid}` },
})

provider.use(async (ctx, next) => {
  if (ctx.path === '/tests/refuse-next') {
    refuses = true
    ctx.body = 'ok'
    return
  }
  if (!ctx.path.startsWith('/tests/interaction/')) return next()
  const { prompt, params, grantId } = await provider.interactionDetails(ctx.req, ctx.res)
  if (refuses) {
    refuses = false
    const refusal = { error: 'access_denied', error_description: 'The person said no.' }
    return provider.interactionFinished(ctx.req, ctx.res, refusal, { mergeWithLastSubmission: false })
  }
  const login = decodeURIComponent(ctx.cookies.get('tests_login') ?? 'ada.admins.example.org')
  if (prompt.name === 'login') {
    return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: login } })
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: login, clientId: params.client_id })
  grant.addOIDCScope('openid profile email')
  return provider.interactionFinished(ctx.req, ctx.res, { consent: { grantId: await grant.save() } })
})

provider.listen(Number(port), '127.0.0.1', () => console.log('ready'))
