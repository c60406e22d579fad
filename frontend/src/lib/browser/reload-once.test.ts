import { afterEach, expect, it, vi } from 'vitest'
import { reloadOnceForMissingParts } from './reload-once'

let stop = () => {}

function given({ isThere = true } = {}) {
  const world = { time: 1_000_000, reload: vi.fn() }
  stop = reloadOnceForMissingParts({
    now: () => world.time,
    reload: world.reload,
    isServerThere: () => Promise.resolve(isThere),
  })
  return world
}

async function miss() {
  window.dispatchEvent(new Event('vite:preloadError'))
  await Promise.resolve()
  await Promise.resolve()
}

afterEach(() => stop())

it('reloads when a part of the page does not arrive, once within a minute', async () => {
  const world = given()
  await miss()
  await miss()
  expect(world.reload).toHaveBeenCalledTimes(1)
  world.time += 61_000
  await miss()
  expect(world.reload).toHaveBeenCalledTimes(2)
})

it('stays where there is no server to reload from', async () => {
  const world = given({ isThere: false })
  await miss()
  expect(world.reload).not.toHaveBeenCalled()
})
