import { setupServer } from 'msw/node'

/**
 * The simulated app server. Each test adds the routes that it needs. A request without a route fails the
 * test.
 */
export const server = setupServer()
