import { setupServer } from 'msw/node'

/** The stand-in for the app server. Each test adds the routes it needs; an unexpected request fails it. */
export const server = setupServer()
