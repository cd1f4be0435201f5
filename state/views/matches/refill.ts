import { NOT_CAUGHT_UP } from '../view.ts'
import { type BuildDeps, buildStack, lockBuild } from './build.ts'
import { userKeys } from './users.ts'
import { placeOf, readUser } from './viewer.ts'

/** `skipped`: nobody waits for the candidates, or another search for the user is running. */
export type Refill = 'built' | 'skipped'

/**
 * Searches for candidates for a user and stores them, so that the next feed finds them.
 * @param partition the partition of the view of users that has the user's keys
 * @param token unique
 */
export async function refillStack(deps: BuildDeps, partition: number, userId: string, token: string): Promise<Refill> {
  // The lock of a user who cannot be served would only hold up the next feed.
  if ((await readyViewer()) === undefined) return 'skipped'
  const keys = userKeys(partition, userId)
  if (!(await lockBuild(deps, keys, token))) return 'skipped'
  const viewer = await readyViewer()
  if (viewer === undefined) return 'skipped'
  const { stored } = await buildStack(deps, keys, token, viewer.state, viewer.place)
  await stored
  return 'built'

  async function readyViewer() {
    const state = await readUser(deps.reader, partition, userId)
    if (state === undefined || state === NOT_CAUGHT_UP || !state.profile.is_active) return undefined
    const place = placeOf(state)
    return place && { state, place }
  }
}
