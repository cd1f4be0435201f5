import { isWithin } from '../age.ts'

/**
 * Interval between snapshots of unchanged contents. Without these snapshots, the existing snapshot would become too old
 * to continue from its offsets.
 */
const UNCHANGED_INTERVAL_MS = 3_600_000

/**
 * Returns whether a snapshot must be written. This is the case if the contents have changed, if there is no snapshot,
 * or if the last snapshot is too old.
 * @param lastAt the time of the last snapshot, epoch ms; undefined if there is none
 * @param now epoch ms
 */
export function isSnapshotDue(isChanged: boolean, lastAt: number | undefined, now: number): boolean {
  return isChanged || lastAt === undefined || !isWithin(lastAt, UNCHANGED_INTERVAL_MS, now)
}
