import { NOT_CAUGHT_UP } from '../view.ts'
import { type BuildDeps, buildStack, lockBuild, unlockBuild } from './build.ts'
import { userKeys } from './users.ts'
import { placeOf, readUser } from './viewer.ts'

/** Result of a refill. `skipped`: no search is possible for the user now, or another search for the user is running. */
export type Refill = 'built' | 'skipped'

/**
 * Searches for candidates for a user in advance and stores them for the next feed.
 * @param partition the partition of the view that contains the user
 * @param token a unique token for the lock
 */
export async function refillStack(deps: BuildDeps, partition: number, userId: string, token: string): Promise<Refill> {
  // If no search is possible for this user, a lock would only delay the next feed.
  if ((await readyViewer()) === undefined) return 'skipped'
  const keys = userKeys(partition, userId)
  if (!(await lockBuild(deps, keys, token))) return 'skipped'
  let isStored = false
  try {
    const viewer = await readyViewer()
    const built = viewer && (await buildStack(deps, keys, token, viewer.state, viewer.place))
    if (built === undefined || built === NOT_CAUGHT_UP) return 'skipped'
    await built.stored
    isStored = true
    return 'built'
  } finally {
    // Unlocks the search, so that the next feed of the user does not have to wait until the lock expires. If unlocking
    // fails, the feed waits.
    if (!isStored) await unlockBuild(deps, keys, token).catch(() => undefined)
  }

  async function readyViewer() {
    const state = await readUser(deps.reader, partition, userId)
    if (state === undefined || state === NOT_CAUGHT_UP || !state.profile.is_active) return undefined
    const place = placeOf(state)
    return place && { state, place }
  }
}
