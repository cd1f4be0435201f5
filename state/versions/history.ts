import type { FileVersion } from './version.ts'

/** The value of the record in the compacted topic: which versions exist, and which of them answer requests. */
export interface VersionHistory<V extends FileVersion> {
  /** Newest first. */
  readonly versions: readonly V[]
  /** The version that answers requests; undefined when there is none. */
  readonly champion: string | undefined
  /**
   * Version that answers the requests of a share of the users in place of the champion; undefined when there is none.
   */
  readonly challenger: string | undefined
  /** Earlier champions, newest first. `NO_VERSION` represents the time before the first champion. */
  readonly earlier: readonly string[]
}

export const NO_VERSIONS: VersionHistory<never> = { versions: [], champion: undefined, challenger: undefined, earlier: [] }

/** Used instead of a version's name when no version was in force. */
export const NO_VERSION = ''

/**
 * Number of newest versions that are kept. Older versions are kept only while they are in force, or while a rollback
 * would restore them.
 */
export const KEPT_VERSIONS = 5

/** Adds a version that does not answer requests yet. Does nothing if the history already contains the version. */
export function withVersion<V extends FileVersion>(history: VersionHistory<V>, version: V): VersionHistory<V> {
  if (history.versions.some((known) => known.version === version.version)) return history
  const versions = [version, ...history.versions].sort((one, other) => other.sequence - one.sequence)
  return trimmed({ ...history, versions })
}

/**
 * Makes a version the champion. If it was the challenger, there is no challenger afterwards. Returns undefined when the
 * version is not kept.
 */
export function promoted<V extends FileVersion>(history: VersionHistory<V>, version: string): VersionHistory<V> | undefined {
  if (!history.versions.some((known) => known.version === version)) return undefined
  if (history.champion === version) return history
  const earlier = [history.champion ?? NO_VERSION, ...history.earlier].filter((name) => name !== version)
  const challenger = history.challenger === version ? undefined : history.challenger
  return trimmed({ ...history, champion: version, challenger, earlier })
}

/**
 * Makes a version the challenger, or removes the challenger. Returns undefined if the version is not kept or is the
 * champion.
 */
export function withChallenger<V extends FileVersion>(
  history: VersionHistory<V>,
  version: string | undefined,
): VersionHistory<V> | undefined {
  const isKept = version === undefined || history.versions.some((known) => known.version === version)
  return isKept && (version === undefined || version !== history.champion) ? trimmed({ ...history, challenger: version }) : undefined
}

/**
 * Restores the previous champion, or the state before the first champion. If the restored version was the challenger,
 * there is no challenger afterwards. Returns undefined when there is nothing to restore. The replaced champion can be
 * promoted again as long as it is among the newest versions.
 */
export function rolledBack<V extends FileVersion>(history: VersionHistory<V>): VersionHistory<V> | undefined {
  const [before, ...earlier] = history.earlier
  if (before === undefined) return undefined
  const champion = before === NO_VERSION ? undefined : before
  const challenger = history.challenger === before ? undefined : history.challenger
  return trimmed({ ...history, champion, challenger, earlier })
}

function trimmed<V extends FileVersion>(history: VersionHistory<V>): VersionHistory<V> {
  const needed = new Set([history.champion, history.challenger, history.earlier[0]])
  const versions = history.versions.filter(({ version }, index) => index < KEPT_VERSIONS || needed.has(version))
  const kept = new Set(versions.map(({ version }) => version))
  return { ...history, versions, earlier: history.earlier.filter((version) => version === NO_VERSION || kept.has(version)) }
}
